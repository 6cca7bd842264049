// SPDX-License-Identifier: Apache-2.0
// The cheapest way from one type to another through types whose parts fit, each a single round away
// from the one before.
#pragma once

#include <functional>
#include <limits>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

struct SearchLimits {
  std::int64_t memory = 0;  ///< elements that any device may hold at once
  /// Rounds to price, at most, less those that were. The best plan found until then is returned.
  std::int64_t rounds = 0;
  /// What others have found: only what is cheaper is of interest.
  Picos bar = std::numeric_limits<Picos>::max();
  /// See PlannerOptions.
  std::function<bool(const Layout&)> may_rest;
};

/// A* over types. nullopt where nothing cheaper than the bar was found, or where types do not tell
/// the layouts of the problem. Deterministic.
std::optional<Plan> search(const Problem& problem, const FactoredProblem& factored,
                           TypeLayouts& layouts, const Link& link, SearchLimits& limits,
                           Meetings& meetings);

/// The same in two searches, with the place given where the first ends and the second begins: a
/// search that is cut short goes further from there. For a source without summands.
std::optional<Plan> search_through(const Type& place, const Problem& problem,
                                   const FactoredProblem& factored, TypeLayouts& layouts,
                                   const Link& link, SearchLimits& limits, Meetings& meetings);

}  // namespace weft::reshard
