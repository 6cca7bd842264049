// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/communication.h"

#include <map>
#include <set>

#include "weft/predict/launch_cost.h"
#include "weft/predict/launch_order.h"

namespace weft::predict {

using graph::OpId;

graph::Edit without_communication(const graph::Graph& graph) {
  graph::Edit edit;
  const LaunchOrder order(graph);
  std::set<OpId> launches;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer == graph::kNoId) continue;
    std::map<std::int32_t, OpId> arrival_of;
    for (const OpId arrival : c.arrivals) {
      arrival_of[graph.rank(arrival)] = arrival;
      edit.durations.emplace_back(arrival, 0);
      const OpId launch = order.launch_of(arrival);
      if (launch != graph::kNoId) launches.insert(launch);
    }
    // Ops that waited for the transfer now follow the arrival of their own rank.
    for (const OutEdge& out : order.out_edges(c.transfer)) {
      const auto arrival = arrival_of.find(graph.rank(out.destination));
      if (arrival == arrival_of.end()) continue;
      const graph::Edge& edge = graph.edges[out.edge];
      edit.edges.push_back({arrival->second, out.destination, edge.kind, 0, edge.inferred});
    }
    edit.removed_ops.push_back(c.transfer);
  }
  const LaunchCost cost(graph, launches);
  for (const OpId launch : launches) cost.remove(launch, edit);
  return edit;
}

}  // namespace weft::predict
