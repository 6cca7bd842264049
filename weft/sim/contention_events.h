// SPDX-License-Identifier: Apache-2.0
// Applies the contention rule (contention.h) in one event-driven pass. It needs no iteration, but
// it is about ten times as slow as one round of Contention. Private to weft/sim.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// The duration of each op, slowed while collectives are resident on its rank. `work`: durations
/// without slowdown, by op. `slowdown`: 1.0 for ops that nothing slows. `delays`: by edge.
/// O(n log n).
std::vector<Nanos> contended_durations(const graph::Graph& graph, std::span<const Nanos> work,
                                       std::span<const double> slowdown,
                                       std::span<const Nanos> delays);

}  // namespace weft::sim
