// SPDX-License-Identifier: Apache-2.0
// Measures by which factor communication slows the kernels that run at the same time. It compares
// equal kernels that were recorded both with and without communication beside them. Kernels are
// equal if they have the same name, grid and block.
#pragma once

#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

struct Interference {
  /// Duration beside communication / duration alone; 1 if it could not be measured.
  double slowdown = 1.0;
  Nanos evidence = 0;  ///< total time without communication of the compared kernels
  /// `overlap[op]`: the share of the op's recorded time, from 0 to 1, during which a collective of
  /// the same rank was resident on the device. It is 0 for every op that is not a kernel.
  std::vector<double> overlap;
};

/// `graph` must have been built from `run`. O(n log n) in ops.
Interference measure_interference(const trace::Run& run, const graph::Graph& graph);

/// Shortens every kernel to the duration that it would have without communication beside it.
void remove_interference(graph::Graph& graph, const Interference& interference);

}  // namespace weft::cost
