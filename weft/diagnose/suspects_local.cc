// SPDX-License-Identifier: Apache-2.0
// Looks for findings that are local to a rank: host work, data loading, waits of the host for the
// device, copies, kernels, gaps between kernels, and the cost of the profiler.
#include <algorithm>

#include "weft/cost/profiler_overhead.h"
#include "weft/diagnose/devices.h"
#include "weft/diagnose/loading.h"
#include "weft/diagnose/suspects.h"

namespace weft::diagnose {
namespace {

using graph::EdgeId;
using graph::EdgeKind;
using graph::Graph;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

/// Kernels shorter than this take about as long to launch as to run.
constexpr Nanos kSmallKernel = 10 * kMicrosecond;

/// If the host waits at least this long for a copy, it waits for the copy itself. A shorter copy
/// only reads back a number. Then the host really waits for the kernels before the copy.
constexpr Nanos kLongCopy = kMillisecond;

/// Between two ops, a framework always takes some time, and so does the profiler. Only longer
/// pauses of a thread count as Python time.
constexpr Nanos kLongPause = 50 * kMicrosecond;

/// Adds the whole duration of the op to the removal.
void take_op(const Graph& graph, OpId op, Removal& removal) {
  if (graph.ops.duration[op] > 0) removal.durations.emplace_back(op, 0);
}

/// Adds the delays of the order and thread edges into the op to the removal. Skips other edges.
/// Their delays are wake-up times and launch latencies, which are not idle time of the lane.
void take_delays(const Graph& graph, OpId op, Removal& removal) {
  for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    const EdgeKind kind = graph.edges[e].kind;
    if (graph.edges[e].delay > 0 && (kind == EdgeKind::kOrder || kind == EdgeKind::kThread)) {
      removal.delays.emplace_back(e, 0);
    }
  }
}

/// Returns the ranks without device work whose threads run recorded ops. If a recording shows only
/// the collectives of a rank, the pauses between them are its compute.
std::set<std::int32_t> ranks_that_compute_on_host(const Graph& graph,
                                                  const std::set<std::int32_t>& on_device) {
  std::set<std::int32_t> ranks;
  for (OpId op = 0; op < graph.size(); ++op) {
    const bool works = graph.ops.kind[op] == OpKind::kHost && graph.ops.duration[op] > 0;
    if (works && !on_device.contains(graph.rank(op))) ranks.insert(graph.rank(op));
  }
  return ranks;
}

/// Adds the part of a delay that is not data loading to `pauses`, and keeps the longest one.
void take_pause(const Graph& graph, OpId op, EdgeId edge, Nanos loads, Suspect& pauses) {
  const Nanos time = graph.edges[edge].delay - loads;
  if (time < kLongPause) return;
  pauses.removal.delays.emplace_back(edge, loads);
  auto& facts = std::get<PythonTimeFacts>(pauses.facts);
  if (time > facts.longest) facts = {time, std::string(graph.name(op)), graph.ops.step[op]};
}

}  // namespace

std::vector<Suspect> host_work(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  const LoadingTimes loading(evidence.job);
  const std::set<std::int32_t> devices = ranks_with_device_work(graph);
  const std::set<std::int32_t> on_host = ranks_that_compute_on_host(graph, devices);
  Removal host, load, sync;
  Suspect pauses{FindingKind::kPythonTime, {}, {}, PythonTimeFacts{}};
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::Lane& lane = graph.lanes[graph.ops.lane[op]];
    if (lane.kind != LaneKind::kHost || lane.rank < 0) continue;
    const bool loads_within =
        loading.overlap(lane.rank, evidence.replay.start(op), evidence.replay.end(op)) > 0;
    const bool on_device = devices.contains(lane.rank);
    if (loads_within || on_device) take_op(graph, op, loads_within ? load : host);
    for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      const graph::Edge& edge = graph.edges[e];
      if (edge.kind == EdgeKind::kHostSync && on_device) sync.removed_edges.push_back(e);
      if (edge.delay == 0 || (edge.kind != EdgeKind::kOrder && edge.kind != EdgeKind::kThread)) {
        continue;
      }
      // A part of a delay may be data loading, and the rest other host work. Each of the two
      // removals takes only its own part.
      const Nanos from = evidence.replay.end(edge.source);
      const Nanos loads = loading.overlap(lane.rank, from, from + edge.delay);
      if (loads > 0) load.delays.emplace_back(e, edge.delay - loads);
      if (loads < edge.delay && on_device) host.delays.emplace_back(e, loads);
      if (on_host.contains(lane.rank)) take_pause(graph, op, e, loads, pauses);
    }
  }
  return {{FindingKind::kHostBound, std::move(host), {}, {}},
          {FindingKind::kDataLoading, std::move(load), {}, {}},
          std::move(pauses),
          {FindingKind::kHostSync, std::move(sync), {}, {}}};
}

std::vector<Suspect> device_work(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  Removal copies, small, gaps;
  Nanos small_time = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.lanes[graph.ops.lane[op]].kind != LaneKind::kStream) {
      // If the host waits for a long copy, the wait disappears with the copy. If it waits for a
      // short copy, it really waits for the work before the copy, which stays.
      for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
        const graph::Edge& edge = graph.edges[e];
        const bool waits =
            edge.kind == EdgeKind::kHostSync && graph.ops.duration[edge.source] >= kLongCopy;
        if (waits && graph.ops.kind[edge.source] == OpKind::kCopy)
          copies.removed_edges.push_back(e);
      }
      continue;
    }
    const OpKind kind = graph.ops.kind[op];
    if (kind == OpKind::kCopy) take_op(graph, op, copies);
    if (kind == OpKind::kKernel && graph.ops.duration[op] < kSmallKernel) {
      small_time += graph.ops.duration[op];
      take_op(graph, op, small);
    }
    take_delays(graph, op, gaps);
  }
  return {{FindingKind::kMemoryCopies, std::move(copies), {}, {}},
          {FindingKind::kSmallKernels, std::move(small), {}, SmallKernelFacts{small_time}},
          {FindingKind::kDeviceGaps, std::move(gaps), {}, {}}};
}

std::vector<Suspect> profiler_cost(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  Graph clean = graph;
  cost::remove_profiler_overhead(clean, cost::overhead_by_rank(evidence.job.run));
  Removal removal;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (clean.ops.duration[op] != graph.ops.duration[op]) {
      removal.durations.emplace_back(op, clean.ops.duration[op]);
    }
  }
  for (EdgeId e = 0; e < graph.edges.size(); ++e) {
    if (clean.edges[e].delay != graph.edges[e].delay) {
      removal.delays.emplace_back(e, clean.edges[e].delay);
    }
  }
  return {{FindingKind::kProfiler, std::move(removal), {}, {}}};
}

}  // namespace weft::diagnose
