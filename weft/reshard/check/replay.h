// SPDX-License-Identifier: Apache-2.0
// Checks a plan without trusting the planner. The checks track which device holds which summands of
// which elements after each round. There are two independent checks. One uses box algebra, for
// arrays of any size. The other uses numbers, element by element, for small arrays.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// The check by box algebra. The array is divided into cells at every edge of every box, so a cell
/// always moves as a whole. For each device and cell, the check keeps a set of summands. `last` is
/// Plan::last(). Returns an Error (kInfeasible) that names the first fault. There are these faults:
///   * A device sends a box that it does not hold.
///   * A device adds to a box that it does not hold.
///   * A summand is added twice.
///   * A part of the target is missing.
Status replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);

/// The check with numbers. Summands are pseudo-random integers. Transfers copy or add these
/// numbers, and the result is compared number by number. Time and memory are devices x elements;
/// see small_enough().
Status run_oracle(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);
constexpr std::int64_t kMostOracleNumbers = 1 << 22;
/// Whether devices x elements is at most kMostOracleNumbers.
bool small_enough(const Problem& problem);

}  // namespace weft::reshard
