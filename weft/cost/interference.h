// SPDX-License-Identifier: Apache-2.0
// Kernels that run while communication is under way are slower than the same kernels alone. The
// factor is measured in the recording: on kernels with equal name, grid and block that were
// recorded both with and without communication beside them.
#pragma once

#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

struct Interference {
  double slowdown = 1.0;  ///< duration beside communication / duration alone; 1 if unknown
  Nanos evidence = 0;     ///< kernel time alone that the measurement is based on
  /// By op: the share of its recorded time in which communication of its rank was resident, from 0
  /// to 1. It is 0 for all ops that are not kernels.
  std::vector<double> overlap;
};

/// `graph` must have been built from `run`. O(n log n) in ops.
Interference measure_interference(const trace::Run& run, const graph::Graph& graph);

/// Shortens every kernel to the duration that it would have without communication beside it.
void remove_interference(graph::Graph& graph, const Interference& interference);

}  // namespace weft::cost
