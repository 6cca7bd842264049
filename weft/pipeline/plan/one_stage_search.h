// SPDX-License-Identifier: Apache-2.0
// This is the first phase of a planning: it searches plans with one stage per device. The size of
// the cluster decides how this phase searches, see one_stage_search.cc.
#pragma once

#include <optional>
#include <vector>

#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/plan/plan_context.h"

namespace weft::pipeline {

/// What is known about plans with one stage per device.
struct OneStagePlans {
  Evaluated best;  ///< its step is kNoStep if no plan is known
  /// The best plan of the exact search, if a plan of SPP (another planner, rivals.h) is better and
  /// has become `best`. The phases after this one use it as another start.
  Evaluated before_spp;
  Nanos bound = 0;  ///< lower bound of the step over all plans and schedules
  /// Whether it is proved that no plan is shorter under the schedules that were tried.
  bool exhausted = false;
  /// Whether the search has stopped early, because a good plan breaks the memory limits of
  /// PlanContext::with_limits. `best` and `bound` are then of no use.
  bool breaks_memory = false;
  /// SPP's plans. They do not depend on memory limits, so a second planning can use them again.
  std::vector<std::vector<PlannedStage>> spp_plans;
};

/// Searches from `known`. `fitting` is the result of a search for some plan that fits into memory,
/// if there was such a search. If `fitting` says that no plan fits, the function returns `known`.
/// `speed_bound` is a result of capacity_bound() from a planning of the same task without memory
/// limits. The caller passes it on, because capacity_bound() takes long and ignores memory anyway.
OneStagePlans search_one_stage(const PlanContext& context, const Fitting& fitting,
                               const std::optional<Nanos>& speed_bound, OneStagePlans known);

}  // namespace weft::pipeline
