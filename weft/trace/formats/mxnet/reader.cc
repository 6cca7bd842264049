// SPDX-License-Identifier: Apache-2.0
// Reads the events into a SpanCollector, which joins beginnings and ends (spans.h), and turns the
// spans into one RankTrace (rank.h).
#include "weft/trace/formats/mxnet/reader.h"

#include "weft/base/json/scanner.h"
#include "weft/trace/clock/check.h"
#include "weft/trace/formats/chrome_events.h"
#include "weft/trace/formats/json_repairs.h"
#include "weft/trace/formats/mxnet/rank.h"
#include "weft/trace/formats/mxnet/spans.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kUnfinished{"unfinished-spans", Severity::kInfo,
                                     "work without a recorded end was left out",
                                     "normal if the profiler was stopped during a step"};
constexpr DiagnosticKind kUnmatched{"unmatched-ends", Severity::kWarning,
                                    "ends without a recorded beginning were left out",
                                    "a part of the file is missing; dump the profile again"};
constexpr DiagnosticKind kSpanWithoutTime{"event-without-time", Severity::kDataLoss,
                                          "events without a usable time were left out",
                                          "the file is damaged; copy it again"};

class MxnetReader final : public Reader {
 public:
  const char* name() const override { return "mxnet"; }
  const char* description() const override {
    return "MXNet profiler (mxnet.profiler.dump): engine, C API, memory, KVStore";
  }

  int recognise(std::string_view head) const override {
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    // The profile names its devices at the start. "cpu/0" alone is weaker evidence than several
    // devices, because another writer could use that name.
    if (!has("\"traceEvents\"") || !has("\"process_name\"") || !has("\"cpu/0\"")) return 0;
    return has("\"cpu pinned/\"") || has("\"cpu/1\"") || has("\"gpu/0\"") ? 90 : 75;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    JsonScanner scanner(source);
    mxnet::SpanCollector collector;
    std::int64_t entries = 0;
    const auto read_one = [&] {
      ChromeEvent event;
      // A metadata event has the argument "name"; a counter event has one argument, its value.
      std::string_view arg_name;
      std::int64_t counter = -1;
      const bool whole = read_chrome_event(scanner, event, [&] {
        read_chrome_args(scanner, [&](std::string_view key) {
          if (key == "name") {
            arg_name = scanner.string();
          } else if (scanner.peek() == JsonKind::kNumber) {
            scanner.integer(counter);
          } else {
            scanner.skip();
          }
        });
      });
      if (!whole) return;
      ++entries;
      collector.add(event, arg_name, counter);
    };
    ChromeWalk walk(scanner, source, options, read_one, [&](std::string_view) { scanner.skip(); });
    WEFT_TRY(walk.run(diagnostics));
    if (collector.spans().empty()) {
      return fail(
          ErrorCode::kBadInput,
          "the profile contains no work; call profiler.set_state('run') before the steps to "
          "record and profiler.dump() after them",
          source.name(), scanner.offset());
    }
    std::vector<RankTrace> traces;
    traces.push_back(mxnet::make_rank(collector));
    RankTrace& trace = traces.front();
    trace.file = source.name();
    trace.format = name();
    // The engine starts an operator as soon as its inputs are ready, so a pause is a wait.
    trace.dataflow = true;
    trace.rank = rank_from_name(source.name());
    trace.facts.total_events = entries;
    if (scanner.cut() || source.truncated()) trace.cut_at = scanner.offset();
    report_repairs(scanner, source, diagnostics);
    diagnostics.add(kUnfinished, source.name(), collector.unfinished());
    diagnostics.add(kUnmatched, source.name(), collector.unmatched());
    diagnostics.add(kSpanWithoutTime, source.name(), collector.without_time());
    WEFT_TRY(check_clock(trace, diagnostics));
    return traces;
  }
};

}  // namespace

std::unique_ptr<Reader> make_mxnet_reader() { return std::make_unique<MxnetReader>(); }

}  // namespace weft::trace
