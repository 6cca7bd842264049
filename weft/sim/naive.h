// SPDX-License-Identifier: Apache-2.0
// The oracle of the tests: a second simulator that shares no code with Replay. It advances a clock
// from event to event and at each event looks at every op to see which can start. It is slow on
// purpose: simple code is easy to trust. It also implements the contention rule (contention.h).
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

struct NaiveTimes {
  std::vector<Nanos> start;
  std::vector<Nanos> end;
};

/// `slowdown[op]`: how many times longer the op's work takes while a collective is resident on its
/// rank, that is from the start of one of the rank's kArrive ops to the end of its transfer; 1.0 if
/// nothing slows the op. An empty vector means no contention. At least quadratic in ops.
NaiveTimes simulate_naively(const graph::Graph& graph, const std::vector<double>& slowdown = {});

}  // namespace weft::sim
