// SPDX-License-Identifier: Apache-2.0
// Computes step times in four stages. The input is the time at which each op is over.
//
//  1. rank_lanes() finds the lanes of a rank that decide when its steps end. On a rank with a
//     device these are its streams, because the host runs ahead of them. Without a device they are
//     host lanes.
//  2. step_ends(): a step ends on a rank when the last of its ops on these lanes is over.
//  3. first_begin() finds when the first step begins. Every later step begins when the step before
//     it ends. The first step begins when the work that was issued before it is over. If there is
//     no such work, it begins at its step mark.
//  4. add_rank() computes the period of a step, from its begin to its end. In an op timeline the
//     job may pause between two steps. Such a pause belongs to neither step.
//
// The stages are the same for the recording and for its replays. Only the times at which ops are
// over differ.
#include "weft/predict/steps.h"

#include <algorithm>
#include <map>
#include <span>

namespace weft::predict {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

/// The ranks of a graph, and which of their lanes decide when a step ends.
struct RankLanes {
  std::vector<std::int32_t> ranks;      ///< sorted
  std::vector<bool> has_device;         ///< one entry per rank
  std::vector<std::size_t> rank_index;  ///< one entry per lane; meaningless for links
  /// One entry per lane: true if the ops of the lane decide when a step ends.
  std::vector<bool> decides;
};

RankLanes rank_lanes(const Graph& graph) {
  std::map<std::int32_t, bool> has_stream;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.rank >= 0) has_stream[lane.rank] |= lane.kind == LaneKind::kStream;
  }
  RankLanes lanes;
  std::map<std::int32_t, std::size_t> index;
  for (const auto& [rank, on_device] : has_stream) {
    index[rank] = lanes.ranks.size();
    lanes.ranks.push_back(rank);
    lanes.has_device.push_back(on_device);
  }
  lanes.rank_index.resize(graph.lanes.size());
  lanes.decides.resize(graph.lanes.size());
  for (std::size_t l = 0; l < graph.lanes.size(); ++l) {
    const graph::Lane& lane = graph.lanes[l];
    if (lane.rank < 0) continue;
    const std::size_t rank = index[lane.rank];
    lanes.rank_index[l] = rank;
    lanes.decides[l] = lane.kind == (lanes.has_device[rank] ? LaneKind::kStream : LaneKind::kHost);
  }
  return lanes;
}

/// Returns the position in graph.steps of the op's step. The step must not be -1.
std::size_t step_index(const Graph& graph, OpId op) {
  const auto step = std::lower_bound(graph.steps.begin(), graph.steps.end(), graph.ops.step[op]);
  return static_cast<std::size_t>(step - graph.steps.begin());
}

/// Returns ends[rank index][step index]: the time at which the step is over on the rank, or -1 if
/// the rank has no work in the step. `over[op]` is the time at which the op is over.
std::vector<std::vector<Nanos>> step_ends(const Graph& graph, const RankLanes& lanes,
                                          std::span<const Nanos> over) {
  std::vector<std::vector<Nanos>> ends(lanes.ranks.size(),
                                       std::vector<Nanos>(graph.steps.size(), -1));
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::LaneId lane = graph.ops.lane[op];
    if (graph.ops.step[op] < 0 || !lanes.decides[lane]) continue;
    Nanos& end = ends[lanes.rank_index[lane]][step_index(graph, op)];
    end = std::max(end, over[op]);
  }
  return ends;
}

/// The ops of one rank that decide when its first step begins, or kNoId if there is no such op.
/// They are chosen by recorded times, also for a replay. Otherwise the recording and a replay might
/// count from different ops, and their steps could not be compared.
struct FirstStep {
  OpId mark = kNoId;  ///< the first op of any step, on any lane: the step mark
  OpId work = kNoId;  ///< the first work of any step on a lane that decides when steps end
  /// the last of the work that was issued before all steps and started before `work`
  OpId before = kNoId;
};

/// Returns one entry per rank, in the order of `lanes.ranks`.
std::vector<FirstStep> first_steps(const Graph& graph, const RankLanes& lanes) {
  const graph::Ops& ops = graph.ops;
  const auto recorded_end = [&](OpId op) {
    return ops.recorded_start[op] + ops.recorded_duration[op];
  };
  std::vector<FirstStep> found(lanes.ranks.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.rank(op) < 0 || ops.step[op] < 0) continue;
    FirstStep& first = found[lanes.rank_index[ops.lane[op]]];
    if (first.mark == kNoId) first.mark = op;
    if (!lanes.decides[ops.lane[op]]) continue;
    if (first.work == kNoId || ops.recorded_start[op] < ops.recorded_start[first.work]) {
      first.work = op;
    }
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.rank(op) < 0 || ops.step[op] >= 0 || !lanes.decides[ops.lane[op]]) continue;
    FirstStep& first = found[lanes.rank_index[ops.lane[op]]];
    // Work that started later is not before the steps. It may belong to a step that was not marked.
    if (first.work == kNoId || ops.recorded_start[op] > ops.recorded_start[first.work]) continue;
    if (first.before == kNoId || recorded_end(op) > recorded_end(first.before)) first.before = op;
  }
  return found;
}

/// Returns when the first step of a rank begins, or -1 if the rank has no work in any step.
Nanos first_begin(const FirstStep& first, bool has_device, std::span<const Nanos> over) {
  const Nanos marked = first.mark == kNoId ? -1 : over[first.mark];
  if (first.before == kNoId) return marked;
  // A device is still busy with the previous step when its host marks the next step. So the mark
  // says nothing about the device. On a rank without device, the host may wait for other ranks
  // between the end of its work and the mark. Then the mark is later and counts.
  return has_device ? over[first.before] : std::max(over[first.before], marked);
}

/// Some ops belong to no rank and mark the begin of a step. Returns one entry per step: the time of
/// its mark, or -1 if the step has no mark. Only op timelines have such marks. Their steps are
/// samples, and time may pass between two samples.
std::vector<Nanos> marked_begins(const Graph& graph, std::span<const Nanos> over) {
  std::vector<Nanos> begins(graph.steps.size(), -1);
  for (OpId op = 0; op < graph.size(); ++op) {
    const bool marks = graph.ops.kind[op] == OpKind::kHost && graph.rank(op) < 0;
    if (marks && graph.ops.step[op] >= 0) begins[step_index(graph, op)] = over[op];
  }
  return begins;
}

/// Returns the length of the pause between step `s` - 1 and step `s`, which belongs to neither of
/// the two steps. The pause lasts from the time at which all ranks have finished step `s` - 1 until
/// the mark of step `s`. `last` is the time at which the present rank has finished.
Nanos pause_before(std::size_t s, Nanos last, const std::vector<Nanos>& marked,
                   const std::vector<std::vector<Nanos>>& ends) {
  if (s == 0 || marked[s] < 0) return 0;
  for (const std::vector<Nanos>& of_rank : ends) last = std::max(last, of_rank[s - 1]);
  return std::max<Nanos>(0, marked[s] - last);
}

/// Adds the periods and ends of rank `r`, whose first step begins at `begin`.
void add_rank(StepTimes& times, std::size_t r, Nanos begin, const std::vector<Nanos>& marked,
              const std::vector<std::vector<Nanos>>& ends) {
  std::vector<Nanos>& periods = times.period.emplace_back(ends[r].size(), -1);
  std::vector<Nanos>& own_ends = times.end.emplace_back(ends[r].size(), -1);
  Nanos last = begin;
  for (std::size_t s = 0; s < ends[r].size(); ++s) {
    // If the rank has no work in step s, its next step begins where the step before s ended.
    if (ends[r][s] < 0) continue;
    if (s == 0 && marked[0] >= 0) last = marked[0];
    const Nanos from = last + pause_before(s, last, marked, ends);
    // A step may end before the step before it does. Then its length is 0.
    own_ends[s] = std::max(ends[r][s], from);
    periods[s] = own_ends[s] - from;
    last = own_ends[s];
  }
}

/// Computes the steps. `over[op]` is the time at which the op is over.
StepTimes step_times(const Graph& graph, std::span<const Nanos> over) {
  const RankLanes lanes = rank_lanes(graph);
  const std::vector<std::vector<Nanos>> ends = step_ends(graph, lanes, over);
  const std::vector<FirstStep> first = first_steps(graph, lanes);
  const std::vector<Nanos> marked = marked_begins(graph, over);
  StepTimes times;
  times.steps = graph.steps;
  times.ranks = lanes.ranks;
  for (std::size_t r = 0; r < lanes.ranks.size(); ++r) {
    add_rank(times, r, first_begin(first[r], lanes.has_device[r], over), marked, ends);
  }
  return times;
}

/// Returns the op whose end is the end of `op`. For an arrival that waits, this is the transfer for
/// which it waits. A recording does not need this, because the recorded op lasts until its transfer
/// ends.
OpId released_by(const Graph& graph, OpId op, Nanos duration) {
  if (graph.ops.kind[op] != OpKind::kArrive || duration != 0) return op;
  const std::uint32_t c = graph.ops.collective[op];
  if (c == kNoId || graph.collectives[c].transfer == kNoId) return op;
  return graph.collectives[c].transfer;
}

}  // namespace

Nanos StepTimes::mean(std::size_t rank_index) const {
  Nanos sum = 0, count = 0;
  for (const Nanos p : period[rank_index]) {
    if (p < 0) continue;
    sum += p;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

Nanos StepTimes::slowest_mean() const {
  Nanos slowest = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) slowest = std::max(slowest, mean(r));
  return slowest;
}

StepTimes recorded_steps(const Graph& graph) {
  std::vector<Nanos> over(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    over[op] = graph.ops.recorded_start[op] + std::max<Nanos>(0, graph.ops.recorded_duration[op]);
  }
  return step_times(graph, over);
}

StepTimes replayed_steps(const Graph& graph, const std::vector<Nanos>& ends) {
  std::vector<Nanos> over(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    over[op] = ends[released_by(graph, op, graph.ops.duration[op])];
  }
  return step_times(graph, over);
}

StepTimes replayed_steps(const sim::Replay& replay) {
  const Graph& graph = replay.graph();
  std::vector<Nanos> over(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    // Use the duration in the replay, because a change may have given an arrival a duration.
    over[op] = replay.end(released_by(graph, op, replay.duration(op)));
  }
  return step_times(graph, over);
}

}  // namespace weft::predict
