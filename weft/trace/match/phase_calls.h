// SPDX-License-Identifier: Apache-2.0
// Lists the communication in op timelines (kPhase events). The name of an op tells its role in
// training, as in Megatron-LM ("forward-send", "grads-reduce-scatter"). Each rank tells its place
// in the parallel layout.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// Returns the calls of run.ranks[rank], in order of start. Peers and groups follow from replica,
/// stage and shard. Leaves out ops whose partner is not in the timeline: gradient clipping, and
/// all-reduces among tensor-parallel ranks, which the timeline shows as a single rank. Takes O(n
/// log n + n ranks) time.
std::vector<Call> phase_calls(const Run& run, std::size_t rank);

}  // namespace weft::trace
