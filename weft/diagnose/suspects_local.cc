// SPDX-License-Identifier: Apache-2.0
// Looks for findings that are local to a rank: host work, data loading, waits of the host for the
// device, copies, kernels, gaps between kernels, and the cost of the profiler.
#include <fmt/format.h>

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

/// If the host waits for a copy at least this long, it waits for the copy itself. A shorter copy
/// only reads back a number, and the host waits for the kernels before it.
constexpr Nanos kLongCopy = kMillisecond;

/// Removes the whole duration of the op.
void take_op(const Graph& graph, OpId op, Removal& removal) {
  if (graph.ops.duration[op] > 0) removal.durations.emplace_back(op, 0);
}

/// Removes the delays before the op. Edges of other kinds have delays that are not idle time of the
/// lane (wake-up times, launch latencies).
void take_delays(const Graph& graph, OpId op, Removal& removal) {
  for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    const EdgeKind kind = graph.edges[e].kind;
    if (graph.edges[e].delay > 0 && (kind == EdgeKind::kOrder || kind == EdgeKind::kThread)) {
      removal.delays.emplace_back(e, 0);
    }
  }
}

std::string milliseconds(Nanos time) {
  return fmt::format("{:.1f} ms", static_cast<double>(time) / 1e6);
}

}  // namespace

std::vector<Finding> host_work(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  const LoadingTimes loading(evidence.job);
  const std::set<std::int32_t> devices = ranks_with_device_work(graph);
  Finding host, load, sync;
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::Lane& lane = graph.lanes[graph.ops.lane[op]];
    if (lane.kind != LaneKind::kHost || lane.rank < 0) continue;
    const bool loads_within =
        loading.overlap(lane.rank, evidence.replay.start(op), evidence.replay.end(op)) > 0;
    const bool on_device = devices.contains(lane.rank);
    if (loads_within || on_device) take_op(graph, op, loads_within ? load.removal : host.removal);
    for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      const graph::Edge& edge = graph.edges[e];
      if (edge.kind == EdgeKind::kHostSync && on_device) sync.removal.edges.push_back(e);
      if (edge.delay == 0 || (edge.kind != EdgeKind::kOrder && edge.kind != EdgeKind::kThread)) {
        continue;
      }
      const Nanos from = evidence.replay.end(edge.source);
      const Nanos loads = loading.overlap(lane.rank, from, from + edge.delay);
      if (loads > 0) load.removal.delays.emplace_back(e, edge.delay - loads);
      if (loads < edge.delay && on_device) host.removal.delays.emplace_back(e, loads);
    }
  }
  host.kind = "host_bound";
  host.title = "launch gaps";
  host.what = "the device waits for the host, which does not launch work fast enough";
  host.advice =
      "capture the step (torch.compile, CUDA graphs), fuse small ops (fused optimizer, foreach), "
      "and move Python work and logging out of the step";
  load.kind = "data_loading";
  load.title = "data loading";
  load.what = "the host fetches batches while the device has nothing to do";
  load.advice =
      "use more loader workers, a larger prefetch_factor or pin_memory, or preprocess the data "
      "before training";
  sync.kind = "host_sync";
  sync.title = "host synchronisation";
  sync.what = fmt::format("the host waits for the device {} times instead of running ahead of it",
                          sync.removal.edges.size());
  sync.advice =
      "avoid .item(), .cpu(), printing tensors and synchronize() in the step; copy with "
      "non_blocking=True from pinned memory";
  return {std::move(host), std::move(load), std::move(sync)};
}

std::vector<Finding> device_work(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  Finding copies, small, gaps;
  Nanos small_time = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.lanes[graph.ops.lane[op]].kind != LaneKind::kStream) {
      // If the host waits for a long copy, the wait goes away with the copy. After a short copy it
      // waits for the work before the copy, which stays.
      for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
        const graph::Edge& edge = graph.edges[e];
        const bool waits =
            edge.kind == EdgeKind::kHostSync && graph.ops.duration[edge.source] >= kLongCopy;
        if (waits && graph.ops.kind[edge.source] == OpKind::kCopy)
          copies.removal.edges.push_back(e);
      }
      continue;
    }
    const OpKind kind = graph.ops.kind[op];
    if (kind == OpKind::kCopy) take_op(graph, op, copies.removal);
    if (kind == OpKind::kKernel && graph.ops.duration[op] < kSmallKernel) {
      small_time += graph.ops.duration[op];
      take_op(graph, op, small.removal);
    }
    take_delays(graph, op, gaps.removal);
  }
  copies.kind = "memory_copies";
  copies.title = "memory copies";
  copies.what = fmt::format("{} copies and fills of memory run on the device",
                            copies.removal.durations.size());
  copies.advice =
      "keep data on the device, copy from pinned memory with non_blocking=True on another stream, "
      "avoid needless .contiguous() and .to()";
  small.kind = "small_kernels";
  small.title = "small kernels";
  small.what =
      fmt::format("{} kernels are shorter than 10 us, {} of compute in all ranks and steps",
                  small.removal.durations.size(), milliseconds(small_time));
  small.advice =
      "fuse them with torch.compile, a fused or foreach optimizer, or fused normalisation layers";
  gaps.kind = "device_gaps";
  gaps.title = "pauses between kernels";
  gaps.what = "the device pauses between kernels that were launched in time";
  gaps.advice =
      "use CUDA graphs, which shorten the pauses between kernels, or fewer and larger kernels";
  return {std::move(copies), std::move(small), std::move(gaps)};
}

std::vector<Finding> profiler_cost(const Evidence& evidence) {
  if (evidence.job.from_phases) return {};
  const Graph& graph = evidence.graph;
  Graph clean = graph;
  cost::remove_profiler_overhead(clean, cost::overhead_by_rank(evidence.job.run));
  Finding finding;
  finding.kind = "profiler";
  finding.title = "the profiler";
  for (OpId op = 0; op < graph.size(); ++op) {
    if (clean.ops.duration[op] != graph.ops.duration[op]) {
      finding.removal.durations.emplace_back(op, clean.ops.duration[op]);
    }
  }
  for (EdgeId e = 0; e < graph.edges.size(); ++e) {
    if (clean.edges[e].delay != graph.edges[e].delay) {
      finding.removal.delays.emplace_back(e, clean.edges[e].delay);
    }
  }
  finding.what = "recording takes host time, which the job without profiler does not need";
  finding.advice =
      "nothing needs to be fixed: weft replay predicts the step without the profiler; to disturb "
      "the job less, record fewer steps or leave out shapes and stacks";
  return {std::move(finding)};
}

}  // namespace weft::diagnose
