// SPDX-License-Identifier: Apache-2.0
// Decides for each event of a rank whether the event is drawn, on which lane, in which row and with
// which colour class.
#include "weft/report/timeline/draft.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "weft/diagnose/loading.h"
#include "weft/trace/match/calls.h"

namespace weft::report {
namespace {

using trace::EventKind;

bool is_drawn(EventKind kind) {
  // Sync events are not drawn, because they cover the same time as the runtime calls that cause
  // them. Memory events are not drawn, because they have no duration; the memory section of the
  // page shows them.
  return kind != EventKind::kSync && kind != EventKind::kMemory;
}

SpanClass class_of(const trace::RankTrace& trace, std::size_t event, bool communication) {
  if (communication) return SpanClass::kCommunication;
  const std::string_view name = trace.names.text(trace.events.name[event]);
  switch (trace.events.kind[event]) {
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      return SpanClass::kMemoryCopy;
    case EventKind::kRuntime:
      return SpanClass::kRuntime;
    case EventKind::kHostOp:
      return diagnose::names_loading(name) ? SpanClass::kDataLoading : SpanClass::kHostOp;
    case EventKind::kAnnotation:
    case EventKind::kGpuAnnotation:
      return diagnose::names_loading(name) ? SpanClass::kDataLoading : SpanClass::kRange;
    case EventKind::kOverhead:
      return SpanClass::kProfiler;
    case EventKind::kPhase:
      return trace::kind_from_name(name) == trace::CollectiveKind::kOther
                 ? SpanClass::kCompute
                 : SpanClass::kCommunication;
    default:
      return SpanClass::kCompute;
  }
}

RowGroup group_of(const trace::Lane& lane, EventKind kind) {
  if (kind == EventKind::kGpuAnnotation) return RowGroup::kRanges;
  if (kind == EventKind::kPhase) return RowGroup::kTrack;
  return lane.on_device ? RowGroup::kStream : RowGroup::kHost;
}

/// The events among the spans that mark a step, in ascending order.
std::vector<std::uint32_t> marks_among(const trace::RankTrace& trace,
                                       const std::vector<LaneSpan>& spans) {
  std::vector<std::uint32_t> marks;
  for (const LaneSpan& span : spans) {
    if (trace.events.kind[span.event] != EventKind::kAnnotation) continue;
    const auto mark =
        std::lower_bound(trace.steps.begin(), trace.steps.end(), span.start,
                         [](const trace::StepMark& step, Nanos time) { return step.start < time; });
    const bool is_mark = mark != trace.steps.end() && mark->start == span.start &&
                         mark->end == span.end() && mark->lane == trace.events.lane[span.event];
    if (is_mark) marks.push_back(span.event);
  }
  std::sort(marks.begin(), marks.end());
  return marks;
}

std::string name_of(const trace::Lane& lane, RowGroup group, bool only_profiler) {
  const std::string number = std::to_string(lane.tid);
  if (group == RowGroup::kRanges) return "ranges of stream " + number;
  if (group == RowGroup::kStream) return "stream " + number;
  // Op timelines name tracks like "PP rank 0, TP rank 0, compute". The lane is drawn below the name
  // of its rank, so only the part after the last comma is needed.
  if (group == RowGroup::kTrack && !lane.name.empty()) {
    const std::size_t comma = lane.name.rfind(", ");
    return comma == std::string::npos ? lane.name : lane.name.substr(comma + 2);
  }
  return only_profiler ? "profiler" : "thread " + number;
}

}  // namespace

RankTimeline draft_rank_timeline(const trace::RankTrace& trace,
                                 const std::vector<bool>& communication) {
  const trace::Events& e = trace.events;
  RankTimeline rank;
  rank.span_class.resize(e.size());
  // Each lane of the trace becomes one lane of the timeline. But the annotations of a stream get a
  // separate lane, because in the lane of the stream they would push the kernels to lower rows.
  std::map<std::pair<RowGroup, std::uint32_t>, std::vector<LaneSpan>> lanes;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (!is_drawn(e.kind[i])) continue;
    rank.span_class[i] = class_of(trace, i, communication[i]);
    lanes[{group_of(trace.lanes[e.lane[i]], e.kind[i]), e.lane[i]}].push_back(
        {e.start[i], std::max<Nanos>(e.duration[i], 0), i});
  }
  for (auto& [key, spans] : lanes) {
    const auto [group, trace_lane] = key;
    const trace::Lane& source = trace.lanes[trace_lane];
    const bool only_profiler = std::all_of(spans.begin(), spans.end(), [&](const LaneSpan& span) {
      return e.kind[span.event] == EventKind::kOverhead;
    });
    DraftLane lane;
    lane.lane = {0, group, source.device, name_of(source, group, only_profiler)};
    lane.trace_lane = trace_lane;
    if (group == RowGroup::kHost) {
      nest_below_marks(spans, marks_among(trace, spans));
    } else {
      group == RowGroup::kRanges ? nest(spans) : stack(spans);
    }
    for (const LaneSpan& span : spans) {
      while (lane.rows.size() <= span.depth) {
        lane.rows.push_back({static_cast<std::uint32_t>(lane.rows.size()), {}, {}});
      }
      lane.rows[span.depth].spans.push_back(span);
    }
    rank.lanes.push_back(std::move(lane));
  }
  // Threads with many events come first, because the main thread usually has most events and is the
  // most interesting thread. Streams are ordered by number.
  std::stable_sort(rank.lanes.begin(), rank.lanes.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const DraftLane& lane) {
      const bool host = lane.lane.group == RowGroup::kHost;
      std::int64_t spans = 0;
      for (const DraftRow& row : lane.rows) spans += static_cast<std::int64_t>(row.spans.size());
      return std::tuple(lane.lane.group, lane.lane.device, host ? -spans : 0,
                        trace.lanes[lane.trace_lane].tid);
    };
    return key(a) < key(b);
  });
  return rank;
}

}  // namespace weft::report
