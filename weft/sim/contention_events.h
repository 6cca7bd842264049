// SPDX-License-Identifier: Apache-2.0
// Applies the contention rule (contention.h) in one event-driven pass. The pass needs no iteration,
// but takes about ten times as long as one round of Contention. Private to weft/sim.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// Returns the duration of each op, slowed while collectives are resident on its rank. `work[op]`
/// is the duration without slowdown. `slowdown[op]` is 1.0 for an op that nothing slows. `delays`
/// has one entry per edge. O(n log n).
std::vector<Nanos> contended_durations(const graph::Graph& graph, std::span<const Nanos> work,
                                       std::span<const double> slowdown,
                                       std::span<const Nanos> delays);

}  // namespace weft::sim
