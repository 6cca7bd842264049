// SPDX-License-Identifier: Apache-2.0
// What the timeline of the report draws: every recorded event of every rank as a span on a row, and
// what connects them. A row holds spans that do not overlap, in order of time, so that a reader can
// search and sum it without any index.
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

/// What a span is coloured by. The names of span_class_name() are those of the page's style sheet.
enum class SpanClass : std::uint8_t {
  kCompute,        ///< kernel, or local work of an op timeline
  kMemoryCopy,     ///< copy or memset
  kCommunication,  ///< member of a collective or message: waiting first, then data moves
  kDataLoading,    ///< the host fetches a batch
  kRuntime,        ///< call into the device runtime
  kHostOp,         ///< framework operator on a host thread
  kRange,          ///< annotation
  kProfiler,       ///< the profiler's own time
};
constexpr std::size_t kSpanClasses = 8;
const char* span_class_name(SpanClass span_class);

enum class RowGroup : std::uint8_t { kStream, kTrack, kRanges, kHost };

/// A thread, a stream, a track of an op timeline, or the annotations above a stream. In the order
/// in which they are drawn: by rank, device lanes first.
struct TimelineLane {
  std::uint32_t rank = 0;  ///< index into Timeline::ranks
  RowGroup group = RowGroup::kStream;
  std::int32_t device = -1;
  std::string name;  ///< "stream 7", "thread 408"
};

struct TimelineRank {
  std::int32_t rank = -1;
  std::string place;  ///< host, or stage and replica; may be empty
  /// Index of the first rank that spends its time alike; its own where there is none before it.
  std::uint32_t like = 0;
};

/// Spans [first, last) lie on `lane`, `depth` below its top.
struct TimelineRow {
  std::uint32_t lane = 0;
  std::uint32_t depth = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A name and the class it is drawn in; spans that share both share a label.
struct SpanLabel {
  NameId name = 0;
  SpanClass span_class = SpanClass::kCompute;
  bool operator==(const SpanLabel&) const = default;
};

/// Columns, by row, then by start. Times count from the beginning of the recording, as those of the
/// graph do.
struct TimelineSpans {
  std::vector<Nanos> start;
  std::vector<Nanos> duration;
  std::vector<std::uint32_t> label;
  std::vector<std::int32_t> step;  ///< number; -1 outside of all steps
  /// How many spans were put together (1: none) and how long they last in sum.
  std::vector<std::uint32_t> count;
  std::vector<Nanos> busy;

  std::size_t size() const { return start.size(); }
  Nanos end(std::size_t i) const { return start[i] + duration[i]; }
};

struct TimelineLaunch {
  std::uint32_t call = kNoSpan;  ///< on the host
  std::uint32_t work = kNoSpan;  ///< on the device
};

struct TimelineCollective {
  std::string kind;  ///< "allreduce"
  std::string group;
  Bytes bytes = -1;
  std::int64_t sequence = -1;
  Nanos last_arrival = 0;  ///< data moves from here ...
  Nanos end = 0;           ///< ... to here
  std::vector<std::uint32_t> members;
};

/// As it was recorded, also where the path was found in a replay.
struct TimelinePathPiece {
  std::uint32_t span = kNoSpan;  ///< kNoSpan for gaps
  std::uint32_t lane = kNoSpan;
  Nanos start = 0;
  Nanos end = 0;
  diagnose::Cause cause = diagnose::Cause::kIdle;
};

struct TimelineStep {
  std::int64_t number = 0;
  Nanos start = 0;
  Nanos end = 0;  ///< on the last rank
};

struct Timeline {
  Interner names;
  std::vector<SpanLabel> labels;
  std::vector<TimelineRank> ranks;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineRow> rows;
  TimelineSpans spans;
  std::vector<TimelineLaunch> launches;  ///< by work
  std::vector<TimelineCollective> collectives;
  std::vector<TimelinePathPiece> path;
  std::vector<TimelineStep> steps;
  std::vector<std::uint32_t> span_of_op;  ///< for each op of the graph; kNoSpan if it has none
  std::int64_t recorded_spans = 0;        ///< before any were put together
};

/// A stretch of a rank where every span is to be kept.
struct DetailWindow {
  std::int32_t rank = -1;  ///< -1: all ranks
  Nanos start = 0;
  Nanos end = 0;
};

struct TimelineOptions {
  /// Beyond this many, short neighbours are put together: first those of hosts, then of devices.
  std::size_t most_spans = 300'000;
  std::vector<DetailWindow> detail;
};

/// `path` may be null. O(n log n) in events.
Timeline make_timeline(const predict::Job& job, const diagnose::CriticalPath* path,
                       const TimelineOptions& options = {});

}  // namespace weft::report
