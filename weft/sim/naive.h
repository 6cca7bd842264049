// SPDX-License-Identifier: Apache-2.0
// Simulates a graph in a second, slow way, so that tests can check the results of Replay. This
// simulator shares no code with Replay. It advances a clock from event to event. At each event it
// looks at every op to see whether the op can start. This is slow, but the code is simple, and
// simple code is easy to trust. The simulator also implements the contention rule (contention.h).
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
