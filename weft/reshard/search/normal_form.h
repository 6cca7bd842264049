// SPDX-License-Identifier: Apache-2.0
// Sequences of collectives in normal form: first dynamic slices, then all-to-alls and at most one
// permute, which keep the size of parts, then all-gathers. Parts first shrink and then grow, so no
// part is ever larger than the larger of source and target.
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

/// The normal form of a problem whose types are over the same factors and have no summands; nullopt
/// for other problems. If factors of different primes block each other at both ends, a general
/// exchange that keeps the size of parts takes the place of the permute. There is never more than
/// one such step.
std::optional<std::vector<TypedStep>> normal_form(const FactoredProblem& factored);

/// The same as a plan. Each step moves one factor, so there are few messages and many steps.
/// Returns nullopt also if dimensions do not divide evenly and an intermediate part is larger than
/// the larger end.
std::optional<Plan> normal_plan(const Problem& problem, const FactoredProblem& factored,
                                TypeLayouts& layouts, const Link& link, OverlapCache& overlaps);

}  // namespace weft::reshard
