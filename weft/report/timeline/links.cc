// SPDX-License-Identifier: Apache-2.0
// Adds what connects the spans of a timeline: launches, collectives, the critical path and steps.
#include <algorithm>
#include <map>

#include "weft/base/parallel.h"
#include "weft/predict/steps.h"
#include "weft/report/timeline/draft.h"
#include "weft/trace/launches.h"
#include "weft/trace/match/calls.h"

namespace weft::report {

void add_launches(const predict::Job& job, const SpanIndex& index, Timeline& timeline) {
  std::vector<std::vector<TimelineLaunch>> found(job.run.ranks.size());
  parallel_for(found.size(), [&](std::size_t r) {
    const trace::Launches launches = trace::resolve_launches(job.run.ranks[r]);
    const std::vector<std::uint32_t>& span_of = index.span_of_event[r];
    for (std::size_t event = 0; event < span_of.size(); ++event) {
      const std::uint32_t call = launches.launcher[event];
      if (call == trace::kNone || span_of[event] == kNoSpan || span_of[call] == kNoSpan) continue;
      found[r].push_back({span_of[call], span_of[event]});
    }
  });
  for (const auto& launches : found) {
    timeline.launches.insert(timeline.launches.end(), launches.begin(), launches.end());
  }
  std::sort(timeline.launches.begin(), timeline.launches.end(), [](const auto& a, const auto& b) {
    return std::pair{a.work, a.call} < std::pair{b.work, b.call};
  });
  // A merged span can contain work of several launches. Only the launch with the earliest call is
  // kept, because the page shows at most one call per span.
  const auto same_work = [](const auto& a, const auto& b) { return a.work == b.work; };
  timeline.launches.erase(
      std::unique(timeline.launches.begin(), timeline.launches.end(), same_work),
      timeline.launches.end());
}

void add_collectives(const predict::Job& job, Timeline& timeline) {
  const graph::Ops& ops = job.graph.ops;
  for (const graph::Collective& source : job.graph.collectives) {
    TimelineCollective collective;
    collective.kind = trace::to_text(source.kind);
    collective.group = source.group;
    collective.bytes = source.bytes;
    collective.sequence = source.sequence;
    for (const graph::OpId arrival : source.arrivals) {
      const std::uint32_t span = timeline.span_of_op[arrival];
      if (span != kNoSpan) collective.members.push_back(span);
    }
    // A collective without a transfer is left out, because its times are unknown. A collective
    // without members is left out, because no span belongs to it.
    if (source.transfer == graph::kNoId || collective.members.empty()) continue;
    collective.last_arrival = ops.recorded_start[source.transfer];
    collective.end = collective.last_arrival + ops.recorded_duration[source.transfer];
    timeline.collectives.push_back(std::move(collective));
  }
}

void add_path(const predict::Job& job, const diagnose::CriticalPath& path, const SpanIndex& index,
              Timeline& timeline) {
  const graph::Ops& ops = job.graph.ops;
  // Gaps and transfers have no event, so their lane does not follow from an event. A gap is drawn
  // on the lane of the op that follows it. A transfer is drawn on the lane of the member through
  // which the path goes. lane_of maps each lane of the graph to a lane of the timeline. Any op on
  // the lane that has an event gives this mapping.
  std::vector<std::uint32_t> lane_of(job.graph.lanes.size(), kNoSpan);
  for (graph::OpId op = 0; op < ops.size(); ++op) {
    const std::uint32_t rank = index.rank_of_lane[ops.lane[op]];
    if (ops.event[op] == graph::kNoId || rank == kNoSpan) continue;
    const std::uint32_t trace_lane = job.run.ranks[rank].events.lane[ops.event[op]];
    lane_of[ops.lane[op]] = index.lane_of_trace_lane[rank][trace_lane];
  }
  std::map<std::pair<graph::OpId, std::int32_t>, graph::OpId> member_of;  // (transfer, rank)
  for (const graph::Collective& collective : job.graph.collectives) {
    for (const graph::OpId arrival : collective.arrivals) {
      member_of[{collective.transfer, job.graph.rank(arrival)}] = arrival;
    }
  }
  // The path was found in a replay. In replayed times its pieces do not overlap, but in recorded
  // times they may overlap slightly. The overlaps are cut off, so that the line of the path never
  // goes back in time.
  Nanos last_end = INT64_MIN;
  for (const diagnose::PathPiece& piece : path.pieces) {
    const auto member = member_of.find({piece.op, piece.rank});
    const graph::OpId op = member == member_of.end() ? piece.op : member->second;
    const Nanos start = std::max(last_end, piece.recorded_start - job.graph.origin);
    last_end = std::max(start, piece.recorded_end - job.graph.origin);
    timeline.path.push_back({piece.is_gap ? kNoSpan : timeline.span_of_op[op],
                             lane_of[ops.lane[op]], start, last_end, piece.cause});
  }
}

void add_steps(const predict::Job& job, Timeline& timeline) {
  const predict::StepTimes steps = predict::recorded_steps(job.graph);
  for (std::size_t s = 0; s < steps.steps.size(); ++s) {
    TimelineStep step{steps.steps[s], INT64_MAX, INT64_MIN};
    for (std::size_t r = 0; r < steps.ranks.size(); ++r) {
      if (steps.period[r][s] < 0) continue;
      step.end = std::max(step.end, steps.end[r][s]);
      step.start = std::min(step.start, steps.end[r][s] - steps.period[r][s]);
    }
    if (step.end == INT64_MIN) continue;
    // Ranks end a step at slightly different times. The ruler of the page shows the steps without
    // gaps and overlaps. So a step begins when the last rank ends the previous step.
    if (!timeline.steps.empty()) step.start = timeline.steps.back().end;
    timeline.steps.push_back(step);
  }
}

}  // namespace weft::report
