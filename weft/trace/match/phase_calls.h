// SPDX-License-Identifier: Apache-2.0
// The communication in op timelines (kPhase events), whose ops name their role in Megatron-like
// training ("forward-send", "grads-reduce-scatter") and whose ranks name their place in the layout.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// Calls of run.ranks[rank], in order of start; peers and groups follow from replica, stage and
/// shard. Ops that only look like communication (a clipping step, all-reduces of folded tensor
/// ranks) are left out.
std::vector<Call> phase_calls(const Run& run, std::size_t rank);

}  // namespace weft::trace
