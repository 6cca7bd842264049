// SPDX-License-Identifier: Apache-2.0
// Reads a Kineto file in one pass: ChromeWalk visits the events, raw_event.cc decodes each one,
// Collector turns it into columns of the RankTrace, and file_facts.cc takes the other top-level
// keys. Facts such as the rank may stand at the end of the file, so they are applied after the
// walk.
#include "weft/trace/formats/kineto/kineto.h"

#include "weft/base/json/scanner.h"
#include "weft/trace/clock/check.h"
#include "weft/trace/formats/chrome_events.h"
#include "weft/trace/formats/json_repairs.h"
#include "weft/trace/formats/kineto/collector.h"
#include "weft/trace/formats/kineto/file_facts.h"
#include "weft/trace/formats/kineto/raw_event.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

using kineto::Collector;
using kineto::FileFacts;
using kineto::RawEvent;

constexpr DiagnosticKind kNoTime{"event-without-time", Severity::kDataLoss,
                                 "events without a usable start or duration were left out",
                                 "the profiler wrote NaN or no time; try a newer PyTorch"};
constexpr DiagnosticKind kNegative{"negative-duration", Severity::kWarning,
                                   "negative durations were set to 0",
                                   "the profiler's clock went backwards; record again"};
constexpr DiagnosticKind kCategory{"unknown-category", Severity::kInfo,
                                   "events of categories that Weft does not use were left out",
                                   "nothing needs to be done"};
constexpr DiagnosticKind kImplausible{
    "implausible-rank", Severity::kWarning,
    "a rank that exceeds the world size, or a world size over a million, was treated as unknown",
    "correct distributedInfo in the file, or put the rank into the file name"};

class FileReading {
 public:
  FileReading(ByteSource& source, const ReadOptions& options)
      : source_(source), options_(options), scanner_(source), collector_(trace_) {}

  Result<RankTrace> run(Diagnostics& diagnostics) {
    ChromeWalk walk(
        scanner_, source_, options_, [&] { read_one_event(); },
        [&](std::string_view key) { kineto::read_fact(scanner_, key, facts_); });
    WEFT_TRY(walk.run(diagnostics));
    if (trace_.facts.total_events == 0) {
      return fail(ErrorCode::kBadInput,
                  scanner_.cut() ? "the file ends before its first event; copy it again or let the "
                                   "profiler finish writing"
                                 : "the file contains no events; the profile may be empty: check "
                                   "that the profiler's schedule recorded a step",
                  source_.name(), scanner_.offset());
    }
    collector_.finish();
    apply_facts();
    report(diagnostics);
    if (scanner_.cut() || source_.truncated()) trace_.cut_at = scanner_.offset();
    if (trace_.events.size() == 0) {
      return fail(ErrorCode::kBadInput,
                  "none of the events comes from the PyTorch profiler; pass a file that "
                  "torch.profiler exported",
                  source_.name());
    }
    WEFT_TRY(check_clock(trace_, diagnostics));
    return std::move(trace_);
  }

 private:
  // Drops an event that is cut or damaged: some of its members may be missing.
  void read_one_event() {
    RawEvent event;
    if (kineto::read_event(scanner_, event)) collector_.add(event);
  }

  void apply_facts() {
    trace_.file = source_.name();
    trace_.format = "kineto";
    trace_.epoch = facts_.base_time;
    trace_.devices = std::move(facts_.devices);
    // The collector has set what the events show; the settings of the profiler add the rest.
    trace_.facts.shapes |= facts_.shapes;
    trace_.facts.stacks |= facts_.stacks;
    trace_.facts.memory_events |= facts_.memory;
    if (!facts_.groups.empty()) trace_.groups = std::move(facts_.groups);
    const WorkerName worker = worker_from_name(source_.name());
    trace_.host = facts_.host.empty() ? worker.host : facts_.host;
    if (worker.pid >= 0) trace_.process = worker.pid;
    trace_.world = facts_.world;
    trace_.rank = facts_.rank;
    if (trace_.rank < 0) guess_rank();
  }

  // Takes the rank from the first source that tells it. If no source tells it, the rank stays
  // unknown here. The loader assigns a free number when it sees all files of the job.
  void guess_rank() {
    for (const std::int32_t guess : {collector_.rank_seen(), rank_from_name(source_.name()),
                                     rank_from_name(facts_.trace_name)}) {
      if (trace_.rank < 0 && guess < kineto::kLargestWorld) trace_.rank = guess;
    }
    if (trace_.world < 0 && collector_.largest_group() > 0 &&
        collector_.largest_group() <= kineto::kLargestWorld) {
      trace_.world = collector_.largest_group();
    }
  }

  void report(Diagnostics& diagnostics) const {
    report_repairs(scanner_, source_, diagnostics);
    if (facts_.implausible) diagnostics.add(kImplausible, source_.name());
    const kineto::Losses& losses = collector_.losses();
    diagnostics.add(kNoTime, source_.name(), losses.without_time);
    diagnostics.add(kNegative, source_.name(), losses.negative_duration);
    for (const auto& [category, count] : losses.unknown_categories) {
      diagnostics.add(kCategory, source_.name() + ": \"" + category + "\"", count);
    }
  }

  ByteSource& source_;
  const ReadOptions& options_;
  JsonScanner scanner_;
  RankTrace trace_;
  Collector collector_;
  FileFacts facts_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class KinetoReader : public Reader {
 public:
  const char* name() const override { return "kineto"; }
  const char* description() const override {
    return "PyTorch profiler (Kineto) JSON, 2021 to 2026, CUDA and ROCm";
  }

  int recognise(std::string_view head) const override {
    const std::size_t start = head.find_first_not_of("\xef\xbb\xbf \n\r\t");
    if (start == std::string_view::npos) return 0;
    // Only Kineto writes the first two keys. Other formats have "traceEvents" too, but their
    // readers return more than 60 for their files. So this reader gets all files with "traceEvents"
    // that no other reader knows.
    if (head[start] == '{') {
      if (contains(head, "\"deviceProperties\"") || contains(head, "\"distributedInfo\""))
        return 95;
      if (contains(head, "\"traceEvents\"")) return 60;
      return 0;
    }
    // Other writers also produce a list of events without an object around it, so the list must
    // contain a category of Kineto.
    if (head[start] != '[' || !contains(head, "\"ph\"")) return 0;
    for (const char* mark : {"\"cpu_op\"", "\"cuda_runtime\"", "\"Operator\"", "\"kernel\""}) {
      if (contains(head, mark)) return 80;
    }
    return 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    FileReading reading(source, options);
    WEFT_ASSIGN(RankTrace trace, reading.run(diagnostics));
    std::vector<RankTrace> traces;
    traces.push_back(std::move(trace));
    return traces;
  }
};

}  // namespace

std::unique_ptr<Reader> make_kineto_reader() { return std::make_unique<KinetoReader>(); }

}  // namespace weft::trace
