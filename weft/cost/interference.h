// SPDX-License-Identifier: Apache-2.0
// Kernels that run beside communication are slower than the same kernels alone. How much slower is
// measured in the recording, on equal kernels (name, grid, block) seen both ways.
#pragma once

#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

struct Interference {
  double slowdown = 1.0;  ///< of compute beside communication; 1 where nothing can be measured
  Nanos evidence = 0;     ///< kernel time it was measured on
  /// For each op of the graph: the share of its recorded time that communication of its rank was
  /// resident. 0 for all but compute.
  std::vector<double> overlap;
};

Interference measure_interference(const trace::Run& run, const graph::Graph& graph);

/// Turns recorded kernel durations into the work they would be alone.
void remove_interference(graph::Graph& graph, const Interference& interference);

}  // namespace weft::cost
