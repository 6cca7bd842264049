// SPDX-License-Identifier: Apache-2.0
// The cheapest plan for a problem.
#pragma once

#include <functional>

#include "weft/reshard/plan.h"

namespace weft::reshard {

struct PlannerOptions {
  Link link;
  /// Only the direct plan, where there is one (a partial target needs a search).
  bool direct = false;
  /// Rounds that a search may price, at most; 0: as many as take about a millisecond.
  std::int64_t search_rounds = 0;
  /// Whether an array may rest in a layout between two rounds; plans through others are left out.
  /// Empty: in any.
  std::function<bool(const Layout&)> layout_allowed;
};

/// What no plan can beat: one step that brings the busiest device what it lacks, as far as that is
/// known; 0 where nothing has to move.
Picos least_time(const Problem& problem, const Link& link);

/// An Error (kInfeasible) with the reason where there is none. The plan's peak is at most the
/// larger of both ends.
Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options);

}  // namespace weft::reshard
