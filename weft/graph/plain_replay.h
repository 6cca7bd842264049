// SPDX-License-Identifier: Apache-2.0
// Computes the start and end of all ops by the rule in graph.h. This is for tests of rooms that may
// not include the replay engine (weft/sim).
#pragma once

#include <algorithm>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::graph {

inline std::vector<Nanos> plain_ends(const Graph& graph) {
  std::vector<Nanos> ends(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    Nanos start = 0;
    for (const Edge& edge : graph.in_edges(op)) {
      start = std::max(start, ends[edge.source] + edge.delay);
    }
    ends[op] = start + graph.ops.duration[op];
  }
  return ends;
}

inline std::vector<Nanos> plain_starts(const Graph& graph) {
  std::vector<Nanos> starts = plain_ends(graph);
  for (OpId op = 0; op < graph.size(); ++op) starts[op] -= graph.ops.duration[op];
  return starts;
}

}  // namespace weft::graph
