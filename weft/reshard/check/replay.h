// SPDX-License-Identifier: Apache-2.0
// Checks a plan without trusting the planner, by tracking which device holds which summands of
// which elements after each round. There are two independent checks: by box algebra, for arrays of
// any size, and element by element with numbers, for small arrays.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// The symbolic check. The array is divided into cells at every edge of every box, so that a cell
/// moves as a whole, and each device has a set of summands of each cell. `last` is Plan::last(). An
/// Error (kInfeasible) names the first fault: a device sends a box that it does not hold, a device
/// adds to a box that it does not hold, a summand is added twice, or a part of the target is
/// missing.
Status replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);

/// The element-wise check. Summands are pseudo-random integers, transfers copy or add them, and the
/// result is compared number by number. Time and memory are devices x elements; see small_enough().
Status run_oracle(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);
constexpr std::int64_t kMostOracleNumbers = 1 << 22;
/// Whether devices x elements is at most kMostOracleNumbers.
bool small_enough(const Problem& problem);

}  // namespace weft::reshard
