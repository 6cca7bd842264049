// SPDX-License-Identifier: Apache-2.0
// Plans of as few messages as there can be: every device hears from one other a round, and what it
// is told may be for third parties. Where an array divides, the search over types finds such plans
// as digits moved one by one. Where it does not, some device would then hold more than its share;
// here it is chosen freely who listens to whom, until everything fits.
#pragma once

#include <optional>

#include "weft/reshard/plan.h"

namespace weft::reshard {

/// For arrays without copies and summands on few devices, all alike; nullopt for others, and where
/// no plan was found that is faster than `upper_bound` and holds no more than `memory` elements on any
/// device. Deterministic: a search with a seed of its own and a limit in trials.
std::optional<Plan> relay_plan(const Problem& problem, const Link& link, std::int64_t memory,
                               Picos upper_bound, OverlapCache& overlaps);

}  // namespace weft::reshard
