// SPDX-License-Identifier: Apache-2.0
// Reads all events into a Timeline, takes the collectives (responses) from it, and turns them into
// one RankTrace per rank (ranks.h).
#include "weft/trace/formats/horovod/reader.h"

#include "weft/base/json/scanner.h"
#include "weft/trace/clock/check.h"
#include "weft/trace/formats/chrome_events.h"
#include "weft/trace/formats/horovod/ranks.h"
#include "weft/trace/formats/horovod/timeline.h"
#include "weft/trace/formats/json_repairs.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kNoArrivals{
    "horovod-arrivals-unknown", Severity::kInfo,
    "some collectives do not tell when each rank was ready, so late ranks cannot be found there",
    "record on rank 0 with HOROVOD_CACHE_CAPACITY=0: the response cache hides the ready marks"};
constexpr DiagnosticKind kUnfinished{
    "unfinished-spans", Severity::kInfo, "work without a recorded end was left out",
    "normal for the last step: Horovod drops records that are not yet written when the job ends"};
constexpr DiagnosticKind kUnmatched{"unmatched-ends", Severity::kWarning,
                                    "ends without a recorded beginning were left out",
                                    "the start of the file is missing, or two jobs wrote to the "
                                    "file; record again into a new file"};
constexpr DiagnosticKind kEventWithoutTime{"event-without-time", Severity::kDataLoss,
                                           "events without a usable time were left out",
                                           "the file is damaged; copy it again"};

class HorovodReader final : public Reader {
 public:
  const char* name() const override { return "horovod"; }
  const char* description() const override {
    return "Horovod timelines (HOROVOD_TIMELINE): collectives, and when each rank was ready";
  }

  int recognise(std::string_view head) const override {
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    // Horovod writes no categories. A Kineto profile of a Horovod job may contain the same names,
    // but it has categories.
    if (!has("\"ph\"") || has("\"cat\"")) return 0;
    if (has("\"start_time_since_epoch_in_micros\"") || has("\"NEGOTIATE_")) return 94;
    return has("\"CYCLE_START\"") && has("\"process_sort_index\"") ? 70 : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    JsonScanner scanner(source);
    horovod::Timeline timeline;
    std::int64_t entries = 0;
    bool last_whole = true;
    const auto read_one = [&] {
      ChromeEvent event;
      horovod::Timeline::Args args;
      last_whole = read_chrome_event(scanner, event, [&] {
        read_chrome_args(scanner, [&](std::string_view key) { read_arg(scanner, key, args); });
      });
      if (!last_whole) return;
      ++entries;
      timeline.add(event, args);
    };
    ChromeWalk walk(scanner, source, options, read_one, [&](std::string_view) { scanner.skip(); });
    WEFT_TRY(walk.run(diagnostics));

    const std::vector<horovod::Response> responses = timeline.responses();
    if (responses.empty()) {
      return fail(
          ErrorCode::kBadInput,
          "no collective in this timeline has an end; let the job run for some steps before "
          "it is stopped",
          source.name(), scanner.offset());
    }
    const std::int32_t named = rank_from_name(source.name());
    horovod::RankTraces made = horovod::make_ranks(timeline, responses, named);
    diagnostics.add(kNoArrivals, source.name(), made.unknown_arrivals);
    diagnostics.add(kUnfinished, source.name(), timeline.unfinished());
    diagnostics.add(kUnmatched, source.name(), timeline.unmatched());
    diagnostics.add(kEventWithoutTime, source.name(), timeline.without_time());
    // Horovod does not close the list, so a text that ends after a whole event is complete. It is a
    // loss if the text ends inside an event or if the gzip stream is cut.
    const bool open_end = scanner.cut() && last_whole && !source.truncated();
    report_repairs(scanner, source, diagnostics, open_end ? OpenEnd::kUsual : OpenEnd::kLoss);
    for (RankTrace& trace : made.ranks) {
      trace.file = source.name();
      trace.format = name();
      trace.facts.total_events = entries;
      if (!open_end && (scanner.cut() || source.truncated())) trace.cut_at = scanner.offset();
    }
    // check_clock() may move the epoch of a trace. All ranks of a file share one clock, so they
    // must keep the same epoch.
    if (made.ranks.size() == 1) WEFT_TRY(check_clock(made.ranks.front(), diagnostics));
    return std::move(made.ranks);
  }

 private:
  static void read_arg(JsonScanner& scanner, std::string_view key, horovod::Timeline::Args& args) {
    if (key == "name") {
      args.name = scanner.string();
    } else if (key == "dtype") {
      args.dtype = scanner.string();
    } else if (key == "shape") {
      args.shape = scanner.string();
    } else if (key == "start_time_since_epoch_in_micros") {
      scanner.integer(args.epoch_micros);
    } else {
      scanner.skip();
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_horovod_reader() { return std::make_unique<HorovodReader>(); }

}  // namespace weft::trace
