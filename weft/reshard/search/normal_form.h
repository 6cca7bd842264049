// SPDX-License-Identifier: Apache-2.0
// Sequences of collectives in normal form: slices, then what keeps the size of parts, then gathers.
// Parts first shrink and then grow, so none is ever larger than the larger end; among what keeps
// the size there is at most one all-permute.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

/// A collective, and the type it leads to.
struct TypedStep {
  Op op = Op::kDynamicSlice;
  Type type;
};

/// For types over the same factors without summands; nullopt for others. Where axes of different
/// primes lie on top of each other on both ends, the permute may have to be a general exchange that
/// keeps sizes; never are there two such steps.
std::optional<std::vector<TypedStep>> normal_form(const FactoredProblem& factored);

/// The same as a plan. Steps of one digit each: few messages, many steps. nullopt also where parts
/// do not divide and one on the way is larger than the larger end.
std::optional<Plan> normal_plan(const Problem& problem, const FactoredProblem& factored,
                                TypeLayouts& layouts, const Link& link, OverlapCache& overlaps);

}  // namespace weft::reshard
