// SPDX-License-Identifier: Apache-2.0
// The cheapest plan for a problem.
#pragma once

#include "weft/reshard/plan.h"

namespace weft::reshard {

struct PlannerOptions {
  Link link;
  /// Only the direct plan, where there is one (a partial target needs a search).
  bool direct = false;
  std::int64_t search_rounds = 20'000;  ///< as SearchLimits::rounds
};

/// An Error (kInfeasible) with the reason where there is none. The plan's peak is at most the
/// larger of both ends.
Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options);

}  // namespace weft::reshard
