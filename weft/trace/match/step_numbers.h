// SPDX-License-Identifier: Apache-2.0
// Numbers for collectives that have none, made from the marks of the steps. Private to the
// matching.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// For each call of each rank: the same number as its counterparts on other ranks have, from the
/// step in which it began and its place there (before the first mark: counted back from it); -1
/// where there is none. gloo, MPI and UCC write no numbers, and on busy hosts their ends say
/// little; but they begin in the step that waits for them, so that a step of a job holds equally
/// many on every rank. Where it does not, or steps are not marked, or the calls have numbers, all
/// are -1.
std::vector<std::vector<std::int64_t>> step_numbers(const Run& run,
                                                    const std::vector<std::vector<Call>>& calls);

}  // namespace weft::trace
