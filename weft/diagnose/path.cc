// SPDX-License-Identifier: Apache-2.0
// Describes the critical path for users. sim::critical_path() finds the chain of ops. This file
// turns each op of the chain into up to two pieces: the gap before the op, and the op. Each piece
// gets a rank and a cause. Pieces before the first complete step are left out.
#include "weft/diagnose/path.h"

#include <algorithm>
#include <limits>

#include "weft/diagnose/devices.h"
#include "weft/diagnose/loading.h"
#include "weft/diagnose/removals.h"
#include "weft/sim/critical_path.h"

namespace weft::diagnose {
namespace {

using graph::EdgeKind;
using graph::Graph;
using graph::kNoId;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

/// Returns the rank of an op on the path. For a transfer, this is the rank that arrived last.
std::int32_t owner(const sim::Replay& replay, OpId op) {
  const Graph& graph = replay.graph();
  if (graph.rank(op) >= 0 || graph.ops.collective[op] == kNoId) return graph.rank(op);
  std::int32_t last = -1;
  Nanos latest = -1;
  for (const OpId arrival : graph.collectives[graph.ops.collective[op]].arrivals) {
    if (replay.end(arrival) <= latest) continue;
    latest = replay.end(arrival);
    last = graph.rank(arrival);
  }
  return last;
}

Cause cause_of_op(const Graph& graph, OpId op, bool on_device) {
  switch (graph.ops.kind[op]) {
    case OpKind::kKernel:
      return Cause::kCompute;
    case OpKind::kCopy:
      return Cause::kMemoryCopy;
    case OpKind::kArrive:
    case OpKind::kTransfer:
    case OpKind::kPush:
    case OpKind::kPull:
      return Cause::kTransfer;
    default:
      return on_device ? Cause::kHostLaunch : Cause::kCompute;
  }
}

/// Returns the cause of a gap. A gap on a host lane is host work that was not recorded as an op. A
/// gap between a launch and its kernel counts as host work, too. The cause of a gap on a stream, or
/// on a rank without device, is not known. Such a gap counts as idle.
Cause cause_of_gap(const Graph& graph, OpId op, EdgeKind edge, bool on_device) {
  if (!on_device) return Cause::kIdle;
  if (edge == EdgeKind::kLaunch) return Cause::kHostLaunch;
  return graph.lanes[graph.ops.lane[op]].kind == LaneKind::kHost ? Cause::kHostLaunch
                                                                 : Cause::kIdle;
}

/// The start of the first complete step and the op that ends last in the last complete step.
struct Extent {
  Nanos begin = 0;
  OpId last = kNoId;
};

Extent extent_of(const sim::Replay& replay) {
  const Graph& graph = replay.graph();
  const predict::StepTimes steps = predict::replayed_steps(replay);
  const std::vector<std::size_t> complete = complete_steps(steps);
  Extent extent;
  if (complete.empty()) return extent;
  extent.begin = std::numeric_limits<Nanos>::max();
  for (std::size_t r = 0; r < steps.ranks.size(); ++r) {
    const std::size_t s = complete.front();
    extent.begin = std::min(extent.begin, steps.end[r][s] - steps.period[r][s]);
  }
  const std::int64_t last_step = steps.steps[complete.back()];
  const std::set<std::int32_t> devices = ranks_with_device(graph);
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::Lane& lane = graph.lanes[graph.ops.lane[op]];
    // The host of a rank with a device runs ahead, so its ops do not decide when the step ends.
    const bool runs_ahead = lane.rank < 0 || devices.contains(lane.rank);
    if (graph.ops.step[op] != last_step || (lane.kind == LaneKind::kHost && runs_ahead)) continue;
    if (extent.last == kNoId || replay.end(op) > replay.end(extent.last)) extent.last = op;
  }
  return extent;
}

}  // namespace

std::int32_t CriticalPath::main_rank() const {
  std::int32_t found = -1;
  Nanos most = 0;
  for (const auto& [rank, time] : by_rank) {
    if (rank < 0 || time <= most) continue;
    most = time;
    found = rank;
  }
  return found;
}

CriticalPath find_critical_path(const predict::Job& job, const sim::Replay& replay) {
  const Graph& graph = replay.graph();
  const Extent extent = extent_of(replay);
  CriticalPath path;
  const LoadingTimes loading(job);
  const std::set<std::int32_t> devices = ranks_with_device(graph);
  const auto add = [&](PathPiece piece) {
    piece.start = std::max(piece.start, extent.begin);  // the path may begin before the first step
    if (piece.start >= piece.end) return;
    const Nanos length = piece.end - piece.start;
    // Host time is data loading if the host fetched batches for more than half of it.
    if (piece.cause == Cause::kHostLaunch &&
        loading.overlap(piece.rank, piece.start, piece.end) > length / 2) {
      piece.cause = Cause::kDataLoading;
    }
    path.by_cause[static_cast<std::size_t>(piece.cause)] += length;
    path.by_rank[piece.rank] += length;
    path.length += length;
    path.pieces.push_back(piece);
  };
  const auto recorded_start = [&](OpId op) { return graph.origin + graph.ops.recorded_start[op]; };
  const auto recorded_end = [&](OpId op) {
    return recorded_start(op) + std::max<Nanos>(0, graph.ops.recorded_duration[op]);
  };
  for (const sim::PathStep& step : sim::critical_path(replay, extent.last)) {
    const OpId op = step.op;
    PathPiece piece;
    piece.op = op;
    piece.rank = owner(replay, op);
    piece.step = graph.ops.step[op];
    piece.lane = graph.ops.lane[op];
    const bool on_device = devices.contains(piece.rank);
    if (step.edge != kNoId) {
      PathPiece gap = piece;
      gap.is_gap = true;
      gap.cause = cause_of_gap(graph, op, graph.edges[step.edge].kind, on_device);
      const OpId source = graph.edges[step.edge].source;
      gap.start = replay.end(source);
      gap.end = replay.start(op);
      gap.recorded_end = recorded_start(op);
      gap.recorded_start = std::min(recorded_end(source), gap.recorded_end);
      add(gap);
    }
    piece.cause = cause_of_op(graph, op, on_device);
    piece.start = replay.start(op);
    piece.end = replay.end(op);
    piece.recorded_start = recorded_start(op);
    piece.recorded_end = recorded_end(op);
    add(piece);
  }
  return path;
}

CriticalPath find_critical_path(const predict::Job& job) {
  const Graph graph = working_graph(job);
  sim::Replay replay(graph);
  replay.run();
  return find_critical_path(job, replay);
}

}  // namespace weft::diagnose
