// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/removals.h"

namespace weft::diagnose {

graph::Graph working_graph(const predict::Job& job) {
  graph::Graph graph = job.graph;
  if (!job.from_phases) return graph;
  for (graph::Edge& edge : graph.edges) edge.delay = 0;
  return graph;
}

}  // namespace weft::diagnose
