// SPDX-License-Identifier: Apache-2.0
// Gives sequence numbers to collectives that were recorded without them. The numbers follow from
// the marks of training steps. Private to the matching.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// Returns a number for each call of each rank. The same collective has the same number on all
/// ranks. The number follows from the step in which the call began and the call's position in this
/// step. Calls before the first step mark are counted backwards from it. Calls that get no number
/// have -1.
///
/// Why: gloo, MPI and UCC record no sequence numbers, and on busy hosts their ends differ too much
/// to align them. But a collective begins in the step that waits for it, so every rank records the
/// same number of collectives in a step. All numbers are -1 if these counts differ between ranks,
/// if a rank has no step marks, or if the ranks have different step marks. O(n log n) in calls.
std::vector<std::vector<std::int64_t>> step_numbers(const Run& run,
                                                    const std::vector<std::vector<Call>>& calls);

}  // namespace weft::trace
