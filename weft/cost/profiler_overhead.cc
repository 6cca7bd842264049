// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/profiler_overhead.h"

#include <algorithm>
#include <cmath>

#include "weft/base/median.h"
#include "weft/trace/launches.h"

namespace weft::cost {
namespace {

using trace::EventKind;

/// The cost of an event is this many times the lower quartile of the wrappers' own times. The
/// factor is the mean of 21 comparisons of host-bound steps with and without profiler
/// (docs/design/prediction.md).
constexpr double kCostPerWrapperTime = 1.56;
/// The cost of an event if the trace has fewer than kEnoughWrappers wrappers.
constexpr Nanos kUsualCost = 2'600;
/// Upper limit of the estimate. If the profiler also records Python stacks, ops become very slow.
/// Then the wrappers' own time is more than the cost of recording.
constexpr Nanos kHighestCost = 3 * kUsualCost;
constexpr std::size_t kEnoughWrappers = 30;
/// At least this share of the recorded time of an op and of the work before it stays.
constexpr double kKeptAtLeast = 0.25;
/// Without the profiler, this is the gap between a kernel and the next kernel, if the next kernel
/// is already queued.
constexpr Nanos kKernelGap = 1 * kMicrosecond;
/// The profiler's time stamps lengthen such a gap to at most this long. A longer gap has another
/// cause and stays as it is.
constexpr Nanos kLongestStampedGap = 50 * kMicrosecond;

bool is_device_work(graph::OpKind kind) {
  return kind == graph::OpKind::kKernel || kind == graph::OpKind::kCopy;
}

}  // namespace

Nanos overhead_per_event(const trace::RankTrace& trace) {
  // An op is a wrapper if exactly one event is directly inside it and that event is an op as well.
  const trace::Launches launches = trace::resolve_launches(trace);
  const auto& e = trace.events;
  struct Inner {
    std::uint32_t only = trace::kNone;
    int count = 0;
  };
  std::vector<Inner> inner(e.size());
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    const std::uint32_t parent = launches.parent[i];
    if (parent == trace::kNone) continue;
    ++inner[parent].count;
    inner[parent].only = i;
  }
  std::vector<Nanos> wrapper_time;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != EventKind::kHostOp || inner[i].count != 1) continue;
    const std::uint32_t child = inner[i].only;
    if (e.kind[child] != EventKind::kHostOp) continue;
    // The autograd engine does additional work around the op that it calls.
    if (trace.names.text(e.name[i]).starts_with("autograd::")) continue;
    wrapper_time.push_back(e.duration[i] - e.duration[child]);
  }
  if (wrapper_time.size() < kEnoughWrappers) return kUsualCost;
  // Use the lower quartile, because some wrappers do real work. Their times say nothing about
  // recording.
  const Nanos quartile = quantile(wrapper_time, 0.25);
  const Nanos cost = std::llround(kCostPerWrapperTime * static_cast<double>(quartile));
  return std::min(cost, kHighestCost);
}

std::vector<Nanos> overhead_by_rank(const trace::Run& run) {
  std::vector<Nanos> per_event;
  for (const trace::RankTrace& trace : run.ranks) {
    const auto rank = static_cast<std::size_t>(std::max(0, trace.rank));
    if (per_event.size() <= rank) per_event.resize(rank + 1);
    per_event[rank] = overhead_per_event(trace);
  }
  return per_event;
}

void remove_profiler_overhead(graph::Graph& graph, const std::vector<Nanos>& per_event) {
  graph::Ops& ops = graph.ops;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const std::int32_t rank = graph.rank(op);
    if (is_device_work(ops.kind[op])) {
      for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
        graph::Edge& edge = graph.edges[e];
        if (edge.kind == graph::EdgeKind::kOrder && is_device_work(ops.kind[edge.source]) &&
            edge.delay <= kLongestStampedGap) {
          edge.delay = std::min(edge.delay, kKernelGap);
        }
      }
    }
    if (ops.host_events[op] == 0 || rank < 0) continue;
    if (static_cast<std::size_t>(rank) >= per_event.size()) continue;
    // The host work before the op is the longest delay of its in-edges. kHostSync edges do not
    // count, because they are waits for the device.
    graph::Edge* before = nullptr;
    for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      graph::Edge& edge = graph.edges[e];
      if (edge.kind == graph::EdgeKind::kHostSync) continue;
      if (!before || edge.delay > before->delay) before = &edge;
    }
    const Nanos gap = before ? before->delay : 0;
    const Nanos total = gap + ops.duration[op];
    const auto least = static_cast<Nanos>(kKeptAtLeast * static_cast<double>(total));
    const Nanos kept =
        std::max(least, total - ops.host_events[op] * per_event[static_cast<std::size_t>(rank)]);
    const Nanos cut = total - std::min(total, kept);
    const Nanos from_gap = std::min(gap, cut);
    if (before) before->delay -= from_gap;
    ops.duration[op] -= cut - from_gap;
  }
}

}  // namespace weft::cost
