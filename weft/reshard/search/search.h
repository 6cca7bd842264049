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
  Picos upper_bound = std::numeric_limits<Picos>::max();
  /// See PlannerOptions.
  std::function<bool(const Layout&)> layout_allowed;
};

/// A* over types. nullopt where nothing cheaper than the upper_bound was found, or where types do not tell
/// the layouts of the problem. Deterministic.
std::optional<Plan> search(const Problem& problem, const FactoredProblem& factored,
                           TypeLayouts& layouts, const Link& link, SearchLimits& limits,
                           OverlapCache& overlaps);

/// The same in two searches, with the waypoint given where the first ends and the second begins: a
/// search that is cut short goes further from there. For a source without summands.
std::optional<Plan> search_via(const Type& waypoint, const Problem& problem,
                                   const FactoredProblem& factored, TypeLayouts& layouts,
                                   const Link& link, SearchLimits& limits, OverlapCache& overlaps);

}  // namespace weft::reshard
