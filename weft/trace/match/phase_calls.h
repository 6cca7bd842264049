// SPDX-License-Identifier: Apache-2.0
// Lists the communication in op timelines (kPhase events). Their ops name their role in training in
// the style of Megatron-LM ("forward-send", "grads-reduce-scatter"), and their ranks name their
// place in the parallel layout.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// Calls of run.ranks[rank], in order of start. Peers and groups follow from replica, stage and
/// shard. Left out are ops without partner in the timeline: gradient clipping, and all-reduces
/// among tensor-parallel ranks that the timeline shows as one rank. O(n log n + n ranks).
std::vector<Call> phase_calls(const Run& run, std::size_t rank);

}  // namespace weft::trace
