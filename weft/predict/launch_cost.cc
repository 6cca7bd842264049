// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/launch_cost.h"

#include <algorithm>
#include <vector>

#include "weft/base/median.h"

namespace weft::predict {
namespace {

using graph::Edge;
using graph::EdgeId;
using graph::OpId;

/// If more work than this is usual before launches, the work is compute of the rank and no part of
/// the launch: a Horovod timeline does not show compute in any other way.
constexpr Nanos kMostOfALaunch = 2 * kMillisecond;

/// Returns the host work right before `op`. This is the longest delay of its in-edges.
Nanos host_gap(const graph::Graph& graph, OpId op) {
  Nanos gap = 0;
  for (const Edge& edge : graph.in_edges(op)) gap = std::max(gap, edge.delay);
  return gap;
}

}  // namespace

LaunchCost::LaunchCost(const graph::Graph& graph, const std::set<OpId>& launches) : graph_(&graph) {
  std::vector<Nanos> gaps;
  for (const OpId op : launches) gaps.push_back(host_gap(graph, op));
  const Nanos usual = median(gaps);
  most_before_ = usual > kMostOfALaunch ? 0 : 2 * usual;
}

Nanos LaunchCost::of(OpId launch) const {
  return graph_->ops.duration[launch] + std::min(host_gap(*graph_, launch), most_before_);
}

void LaunchCost::remove(OpId launch, graph::Edit& edit) const {
  if (graph_->ops.duration[launch] != 0) edit.durations.emplace_back(launch, 0);
  for (EdgeId e = graph_->first_edge[launch]; e < graph_->first_edge[launch + 1]; ++e) {
    const Nanos delay = graph_->edges[e].delay;
    if (delay == 0 || most_before_ == 0) continue;
    edit.delays.emplace_back(e, delay - std::min(delay, most_before_));
  }
}

}  // namespace weft::predict
