// SPDX-License-Identifier: Apache-2.0
// Checks a plan without trusting the planner: who has which summands of which elements, round after
// round. Two ways that share nothing but the rounds: by box algebra, for arrays of any size, and
// element by element with numbers, for small ones.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// Symbolic: the array is divided at every edge of every box, so that a cell moves as a whole, and
/// each device has a set of summands of each cell. `last` is Plan::last(). An Error (kInfeasible)
/// tells the first thing that is wrong: something is sent or added to that is not there, a summand
/// is added twice, or the target lacks something.
Status replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);

/// Element-wise: summands are random integers, transfers are copies and additions, the result is
/// compared number by number. Costs devices x elements; see kMostOracleNumbers.
Status run_oracle(const Problem& problem, const std::vector<Round>& rounds, const Layout& last);
constexpr std::int64_t kMostOracleNumbers = 1 << 22;
/// Whether the oracle is affordable.
bool small_enough(const Problem& problem);

}  // namespace weft::reshard
