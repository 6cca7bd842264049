// SPDX-License-Identifier: Apache-2.0
// Kernels that run at the same time as communication are slower than the same kernels alone. This
// file measures by which factor. It uses kernels that were recorded both with and without
// communication beside them. Kernels are the same if their name, grid and block are equal.
#pragma once

#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

struct Interference {
  /// Duration beside communication / duration alone; 1 if it could not be measured.
  double slowdown = 1.0;
  Nanos evidence = 0;  ///< total time of the kernels alone that the factor was measured on
  /// `overlap[op]`: in which share of the op's recorded time communication of its rank was
  /// resident, from 0 to 1. It is 0 for every op that is not a kernel.
  std::vector<double> overlap;
};

/// `graph` must have been built from `run`. O(n log n) in ops.
Interference measure_interference(const trace::Run& run, const graph::Graph& graph);

/// Shortens every kernel to the duration that it would have without communication beside it.
void remove_interference(graph::Graph& graph, const Interference& interference);

}  // namespace weft::cost
