// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/steps.h"

#include <algorithm>
#include <map>

namespace weft::predict {
namespace {

using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

/// When each step begins, where an op that belongs to no rank marks it (op timelines, whose steps
/// are samples with pauses between them that are no part of the job); -1 where nothing does.
template <class End>
std::vector<Nanos> marked_begins(const graph::Graph& graph, const std::vector<std::int64_t>& steps,
                                 End end) {
  std::vector<Nanos> begins(steps.size(), -1);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] != OpKind::kHost || graph.rank(op) >= 0 || graph.ops.step[op] < 0) {
      continue;
    }
    const auto step = std::lower_bound(steps.begin(), steps.end(), graph.ops.step[op]);
    begins[static_cast<std::size_t>(step - steps.begin())] = end(op);
  }
  return begins;
}

/// `end(op)`: when the op is over; for an arrival, when its transfer is.
template <class End>
StepTimes step_times(const graph::Graph& graph, End end) {
  const graph::Ops& ops = graph.ops;
  std::map<std::int32_t, bool> has_device;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.rank < 0) continue;
    has_device[lane.rank] |= lane.kind == LaneKind::kStream;
  }
  StepTimes times;
  times.steps = graph.steps;
  std::map<std::int32_t, std::size_t> index;
  for (const auto& [rank, device] : has_device) {
    index[rank] = times.ranks.size();
    times.ranks.push_back(rank);
  }
  // By lane: asked for every op.
  std::vector<std::size_t> rank_index(graph.lanes.size());
  std::vector<bool> counts(graph.lanes.size());
  for (std::size_t l = 0; l < graph.lanes.size(); ++l) {
    const graph::Lane& lane = graph.lanes[l];
    if (lane.rank < 0) continue;
    rank_index[l] = index[lane.rank];
    counts[l] = lane.kind == (has_device[lane.rank] ? LaneKind::kStream : LaneKind::kHost);
  }
  const std::size_t n = times.steps.size();
  // Per rank: the end of each step, the first recorded start of a step's work, and the last end of
  // work issued before the first step. That one is told by recorded times, for it must be the same
  // op in the recording and in a replay.
  std::vector<std::vector<Nanos>> ends(times.ranks.size(), std::vector<Nanos>(n, -1));
  std::vector<OpId> first(times.ranks.size(), graph::kNoId);
  std::vector<OpId> before(times.ranks.size(), graph::kNoId);
  std::vector<OpId> mark(times.ranks.size(), graph::kNoId);
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::int32_t rank = graph.rank(op);
    if (rank < 0 || ops.step[op] < 0) continue;
    const std::size_t r = rank_index[ops.lane[op]];
    if (mark[r] == graph::kNoId) mark[r] = op;
    if (!counts[ops.lane[op]]) continue;
    const auto step = std::lower_bound(times.steps.begin(), times.steps.end(), ops.step[op]);
    auto& slot = ends[r][static_cast<std::size_t>(step - times.steps.begin())];
    slot = std::max(slot, end(op));
    if (first[r] == graph::kNoId || ops.recorded_start[op] < ops.recorded_start[first[r]]) {
      first[r] = op;
    }
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::int32_t rank = graph.rank(op);
    if (rank < 0 || ops.step[op] >= 0 || !counts[ops.lane[op]]) continue;
    const std::size_t r = rank_index[ops.lane[op]];
    if (first[r] == graph::kNoId || ops.recorded_start[op] > ops.recorded_start[first[r]]) continue;
    if (before[r] == graph::kNoId ||
        ops.recorded_start[op] + ops.recorded_duration[op] >
            ops.recorded_start[before[r]] + ops.recorded_duration[before[r]]) {
      before[r] = op;
    }
  }
  // A device still has work of the step before when the host begins a step. Where the host itself
  // works it may have waited for others until then.
  const auto first_begins = [&](std::size_t r) {
    const Nanos marked = mark[r] == graph::kNoId ? -1 : end(mark[r]);
    if (before[r] == graph::kNoId) return marked;
    return has_device[times.ranks[r]] ? end(before[r]) : std::max(end(before[r]), marked);
  };
  const std::vector<Nanos> begins = marked_begins(graph, times.steps, end);
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    times.period.emplace_back(n, -1);
    times.end.emplace_back(n, -1);
    Nanos last = first_begins(r);
    for (std::size_t s = 0; s < n; ++s) {
      if (ends[r][s] < 0) continue;
      Nanos pause = 0;
      if (begins[s] >= 0 && s == 0) {
        last = begins[s];
      } else if (begins[s] >= 0) {
        Nanos all_over = last;
        for (const std::vector<Nanos>& of_rank : ends)
          all_over = std::max(all_over, of_rank[s - 1]);
        pause = std::max<Nanos>(0, begins[s] - all_over);
      }
      const Nanos over = std::max(ends[r][s], last + pause);
      times.period[r][s] = over - last - pause;
      times.end[r][s] = over;
      last = over;
    }
  }
  return times;
}

/// The transfer an arrival waits for, or the arrival itself.
OpId release(const graph::Graph& graph, OpId op, Nanos duration) {
  if (graph.ops.kind[op] != OpKind::kArrive || duration != 0) return op;
  const std::uint32_t c = graph.ops.collective[op];
  if (c == graph::kNoId || graph.collectives[c].transfer == graph::kNoId) return op;
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

StepTimes recorded_steps(const graph::Graph& graph) {
  return step_times(graph, [&](OpId op) {
    return graph.ops.recorded_start[op] + std::max<Nanos>(0, graph.ops.recorded_duration[op]);
  });
}

StepTimes replayed_steps(const graph::Graph& graph, const std::vector<Nanos>& ends) {
  return step_times(graph,
                    [&](OpId op) { return ends[release(graph, op, graph.ops.duration[op])]; });
}

StepTimes replayed_steps(const sim::Replay& replay) {
  return step_times(replay.graph(), [&](OpId op) {
    return replay.end(release(replay.graph(), op, replay.duration(op)));
  });
}

}  // namespace weft::predict
