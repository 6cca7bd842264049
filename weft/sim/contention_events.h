// SPDX-License-Identifier: Apache-2.0
// The contention rule (contention.h) in one pass from event to event: never wrong, never in need of
// rounds, but an order of magnitude slower than a settled round. Private to this room.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// How long each op takes beside the collectives that are then resident. `slowdown` is 1.0 for ops
/// that nothing slows; `delays` are by edge. O(n log n).
std::vector<Nanos> contended_durations(const graph::Graph& graph, std::span<const Nanos> work,
                                       std::span<const double> slowdown,
                                       std::span<const Nanos> delays);

}  // namespace weft::sim
