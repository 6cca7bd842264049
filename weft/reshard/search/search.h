// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest path from one type to another. Every edge of the path is one round, and every
// type on it has parts that fit into memory.
#pragma once

#include <functional>
#include <limits>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

struct SearchLimits {
  std::int64_t memory = 0;  ///< most elements that any device may hold in a layout
  /// The most rounds to price. search() subtracts those that it priced, so that the next search
  /// continues with the rest. When none are left, the best plan so far is returned.
  std::int64_t rounds = 0;
  /// The time of the best known plan: only cheaper plans are returned.
  Picos upper_bound = std::numeric_limits<Picos>::max();
  /// See PlannerOptions::layout_allowed.
  std::function<bool(const Layout&)> layout_allowed;
};

/// A* over types. Returns nullopt if no plan below the upper bound was found, or if types do not
/// determine the layouts of the problem (see TypeLayouts::consistent()). Deterministic.
std::optional<Plan> search(const Problem& problem, const FactoredProblem& factored,
                           TypeLayouts& layouts, const Link& link, SearchLimits& limits,
                           OverlapCache& overlaps);

/// The same in two searches: from the source to `waypoint`, and from there to the target. A search
/// with few rounds gets further this way than one search from the source. nullopt also if an end is
/// partial.
std::optional<Plan> search_via(const Type& waypoint, const Problem& problem,
                               const FactoredProblem& factored, TypeLayouts& layouts,
                               const Link& link, SearchLimits& limits, OverlapCache& overlaps);

}  // namespace weft::reshard
