// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest path from one type to another. Every edge of the path is one step, and every
// type on the path has parts that fit into memory.
#pragma once

#include <functional>
#include <limits>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

struct SearchLimits {
  std::int64_t memory = 0;  ///< most elements that any device may hold in a layout
  /// The most rounds to price. search() subtracts the rounds that it priced, so a later search can
  /// use what is left. If none are left, search() returns the best plan that it has found.
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

/// Does two searches: one from the source to `waypoint`, and one from there to the target.
/// If few rounds may be priced, two short searches find better plans than one long search. Returns
/// nullopt also if an end is partial.
std::optional<Plan> search_via(const Type& waypoint, const Problem& problem,
                               const FactoredProblem& factored, TypeLayouts& layouts,
                               const Link& link, SearchLimits& limits, OverlapCache& overlaps);

}  // namespace weft::reshard
