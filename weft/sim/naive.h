// SPDX-License-Identifier: Apache-2.0
// A second simulator, with which tests compare the results of Replay. It shares no code with
// Replay. It advances a clock from event to event, and at each event it looks at every op to see
// whether it can start. It is slow because its code is simple, and simple code is easy to trust. It
// also implements the contention rule (contention.h).
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

struct NaiveTimes {
  std::vector<Nanos> start;
  std::vector<Nanos> end;
};

/// Computes the times of all ops. While a collective is resident on an op's rank, the op's work
/// takes `slowdown[op]` times longer; 1.0 means that nothing slows the op. A collective is resident
/// from the start of one of the rank's kArrive ops to the end of its transfer. An empty vector
/// means no contention. At least quadratic in ops.
NaiveTimes simulate_naively(const graph::Graph& graph, const std::vector<double>& slowdown = {});

}  // namespace weft::sim
