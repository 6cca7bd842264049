// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest plan for a problem.
#pragma once

#include <functional>

#include "weft/reshard/plan.h"

namespace weft::reshard {

struct PlannerOptions {
  Link link;
  /// Use the direct plan without a search, if there is one (a partial target needs a search).
  bool direct = false;
  /// The most rounds that a search may price. 0: as many rounds as can be priced in about a
  /// millisecond. On many devices a search takes longer, see docs/design/reshard.md.
  std::int64_t search_rounds = 0;
  /// Whether a layout may be an intermediate layout of the plan. Plans through other layouts are
  /// left out. Empty: every layout may.
  std::function<bool(const Layout&)> layout_allowed;
};

/// A lower bound on the time of every plan: the time of one step in which the device that lacks
/// most receives what it lacks. 0 if nothing has to move, or if no bound is known.
Picos least_time(const Problem& problem, const Link& link);

/// The cheapest plan that was found. Its peak is at most the larger of source and target.
/// Deterministic: the same problem and options give the same plan. An Error (kInfeasible) with the
/// reason if there is no plan.
Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options);

}  // namespace weft::reshard
