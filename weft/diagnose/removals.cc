// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/removals.h"

namespace weft::diagnose {

graph::Graph working_graph(const predict::Job& job) {
  graph::Graph graph = job.graph;
  if (!job.from_phases) return graph;
  for (graph::Edge& edge : graph.edges) edge.delay = 0;
  return graph;
}

graph::Graph without(const graph::Graph& graph, const Removal& removal) {
  graph::Graph out = graph;
  for (const auto& [op, duration] : removal.durations) out.ops.duration[op] = duration;
  for (const auto& [edge, delay] : removal.delays) out.edges[edge].delay = delay;
  if (removal.edges.empty()) return out;
  // Edges are grouped by destination, so they can be removed in place, one group after the other.
  // Ids stay a topological order when edges are removed.
  std::vector<bool> gone(graph.edges.size());
  for (const graph::EdgeId edge : removal.edges) gone[edge] = true;
  std::size_t kept = 0;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const graph::EdgeId end = graph.first_edge[op + 1];
    const std::size_t first = kept;
    for (graph::EdgeId e = graph.first_edge[op]; e < end; ++e) {
      if (!gone[e]) out.edges[kept++] = out.edges[e];
    }
    out.first_edge[op] = static_cast<graph::EdgeId>(first);
  }
  out.first_edge[graph.size()] = static_cast<graph::EdgeId>(kept);
  out.edges.resize(kept);
  return out;
}

}  // namespace weft::diagnose
