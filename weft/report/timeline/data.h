// SPDX-License-Identifier: Apache-2.0
// Makes the data of the report's timeline. Every recorded event that has a length is a span on a
// row. Launches, collectives and the critical path connect spans. The spans of a row do not overlap
// and are sorted by time, so that the page can find a span by binary search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"
#include "weft/diagnose/path.h"
#include "weft/predict/job.h"

namespace weft::report {

constexpr std::uint32_t kNoSpan = 0xffffffffu;

/// Decides the colour of a span. The page maps the names that span_class_name() gives to colours of
/// its style sheet (web/palette.ts).
enum class SpanClass : std::uint8_t {
  kCompute,        ///< kernel, or computation in an op timeline
  kMemoryCopy,     ///< copy or memset
  kCommunication,  ///< member of a collective or message: first waits, then transfers data
  kDataLoading,    ///< the host fetches a batch
  kRuntime,        ///< call into the device runtime
  kHostOp,         ///< framework operator on a host thread
  kRange,          ///< annotation
  kProfiler,       ///< time that the profiler itself takes
};
constexpr std::size_t kSpanClasses = 8;
const char* span_class_name(SpanClass span_class);

enum class RowGroup : std::uint8_t { kStream, kTrack, kRanges, kHost };

/// A thread, a stream, a track of an op timeline, or the annotations of a stream. Timeline::lanes
/// has the lanes in the order in which they are drawn: rank by rank, and for each rank first the
/// device lanes, then the host threads.
struct TimelineLane {
  std::uint32_t rank = 0;  ///< index into Timeline::ranks
  RowGroup group = RowGroup::kStream;
  std::int32_t device = -1;
  std::string name;  ///< for example "stream 7" or "thread 408"
};

struct TimelineRank {
  std::int32_t rank = -1;
  std::string place;  ///< host name, or stage and replica of a pipeline; may be empty
  /// Index of the first rank with about the same times (see find_similar_ranks()); the rank's own
  /// index if no earlier rank is similar. The page shows one of several similar ranks and folds the
  /// others.
  std::uint32_t like = 0;
};

/// Spans [first, last) form one row of `lane`. `depth` 0 is the top row of the lane.
struct TimelineRow {
  std::uint32_t lane = 0;
  std::uint32_t depth = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A name and a class. Spans with the same name and class share one label. This keeps the page
/// small.
struct SpanLabel {
  NameId name = 0;
  SpanClass span_class = SpanClass::kCompute;
  bool operator==(const SpanLabel&) const = default;
};

/// All spans as columns, sorted by row and then by start. Times are nanoseconds from the beginning
/// of the recording, like those of the graph.
struct TimelineSpans {
  std::vector<Nanos> start;
  std::vector<Nanos> duration;
  std::vector<std::uint32_t> label;
  std::vector<std::int32_t> step;  ///< step number; -1 outside of all steps
  /// Thinning merges short neighbours into one span. `count` is the number of recorded spans that a
  /// span stands for (1 if it was not merged). `busy` is the sum of the durations of these recorded
  /// spans, without the gaps between them.
  std::vector<std::uint32_t> count;
  std::vector<Nanos> busy;

  std::size_t size() const { return start.size(); }
  Nanos end(std::size_t i) const { return start[i] + duration[i]; }
};

/// An arrow from a host call to the device work that it launched.
struct TimelineLaunch {
  std::uint32_t call = kNoSpan;  ///< span on the host
  std::uint32_t work = kNoSpan;  ///< span on the device
};

struct TimelineCollective {
  std::string kind;  ///< for example "allreduce"
  std::string group;
  Bytes bytes = -1;
  std::int64_t sequence = -1;
  Nanos last_arrival = 0;              ///< start of the transfer
  Nanos end = 0;                       ///< end of the transfer
  std::vector<std::uint32_t> members;  ///< spans, one per recorded member
};

/// One op or gap on the critical path. The times are recorded times, although the path is found in
/// a replay.
struct TimelinePathPiece {
  std::uint32_t span = kNoSpan;  ///< kNoSpan for a gap
  std::uint32_t lane = kNoSpan;
  Nanos start = 0;
  Nanos end = 0;
  diagnose::Cause cause = diagnose::Cause::kIdle;
};

struct TimelineStep {
  std::int64_t number = 0;
  Nanos start = 0;
  Nanos end = 0;  ///< end of the step on the rank that ends it last
};

struct Timeline {
  Interner names;
  std::vector<SpanLabel> labels;
  std::vector<TimelineRank> ranks;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineRow> rows;
  TimelineSpans spans;
  std::vector<TimelineLaunch> launches;  ///< sorted by `work`
  std::vector<TimelineCollective> collectives;
  std::vector<TimelinePathPiece> path;
  std::vector<TimelineStep> steps;
  std::vector<std::uint32_t> span_of_op;  ///< span of each graph op; kNoSpan if it has none
  std::int64_t recorded_spans = 0;        ///< number of spans before thinning
};

/// A time interval in which thinning keeps every span.
struct DetailWindow {
  std::int32_t rank = -1;  ///< -1 for all ranks
  Nanos start = 0;
  Nanos end = 0;
};

struct TimelineOptions {
  /// If the recording has more spans than this limit, short neighbouring spans are merged: first
  /// spans of host threads, then spans of devices. The result can still exceed the limit, because
  /// some spans are never merged (see thin() in draft.h).
  std::size_t most_spans = 300'000;
  std::vector<DetailWindow> detail;
};

/// Spans on `path` are never merged. If `path` is null, the timeline has no critical path. Takes
/// O(n log n) time for n events and works on several ranks in parallel.
Timeline make_timeline(const predict::Job& job, const diagnose::CriticalPath* path,
                       const TimelineOptions& options = {});

}  // namespace weft::report
