// SPDX-License-Identifier: Apache-2.0
// The oracle: a second simulator that shares no code with Replay. It advances a clock from event to
// event and, at each, looks at every op to see which can start. Slow on purpose; it also carries
// the contention rule exactly (work done at a rate that changes while communication runs beside
// it).
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

struct NaiveTimes {
  std::vector<Nanos> start;
  std::vector<Nanos> end;
};

/// `slowdown[op]`: how many times longer the op's work takes while a collective is resident on its
/// rank, that is from the start of one of the rank's kArrive ops to the end of its transfer
/// (1.0: not at all). Empty: no contention.
NaiveTimes simulate_naively(const graph::Graph& graph, const std::vector<double>& slowdown = {});

}  // namespace weft::sim
