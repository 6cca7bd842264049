// SPDX-License-Identifier: Apache-2.0
// Finds sequences of collectives in normal form. First come dynamic slices. Then come all-to-alls
// and at most one permute, which keep the size of parts. Last come all-gathers. So parts first
// shrink and then grow, and no part is ever larger than the larger of source and target.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

/// A collective and the type that it leads to.
struct TypedStep {
  Op op = Op::kDynamicSlice;
  Type type;
};

/// The normal form of a problem whose two types have the same factors and no summands; nullopt for
/// other problems. Factors of different primes may block each other in the stacks of both ends.
/// Then a general exchange that keeps the size of parts takes the place of the permute. There is at
/// most one such exchange.
std::optional<std::vector<TypedStep>> normal_form(const FactoredProblem& factored);

/// The normal form as a plan. Each step moves one factor, so the plan has many steps but few
/// messages. Returns nullopt also if dimensions do not divide evenly and an intermediate part is
/// larger than the larger of source and target.
std::optional<Plan> normal_plan(const Problem& problem, const FactoredProblem& factored,
                                TypeLayouts& layouts, const Link& link, OverlapCache& overlaps);

}  // namespace weft::reshard
