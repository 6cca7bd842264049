// SPDX-License-Identifier: Apache-2.0
// The first phase of a planning: plans with one stage per device. The size of the cluster decides
// how it searches, see one_stage_search.cc.
#pragma once

#include <optional>
#include <vector>

#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/plan/plan_context.h"

namespace weft::pipeline {

/// What is known about plans with one stage per device.
struct OneStagePlans {
  Evaluated best;  ///< its step is kNoStep if no plan is known
  /// The best plan of the exact search, if one of SPP's plans has replaced it: another start for
  /// the searches behind this phase.
  Evaluated before_spp;
  Nanos bound = 0;         ///< lower bound of the step over all plans and schedules
  bool exhausted = false;  ///< whether no plan is shorter with the schedules tried
  /// The search has stopped early, because a good plan breaks the memory limits of
  /// PlanContext::with_limits. `best` and `bound` are then of no use.
  bool breaks_memory = false;
  /// SPP's plans. They do not depend on memory limits, so a second planning can use them again.
  std::vector<std::vector<PlannedStage>> spp_plans;
};

/// Searches from `known`. `fitting` says what fits into memory, if that was asked; if nothing does,
/// `known` is returned. `speed_bound` is a bound that a planning of the same task without memory
/// limits has computed by capacity_bound(), which takes long and ignores memory.
OneStagePlans search_one_stage(const PlanContext& context, const Fitting& fitting,
                               const std::optional<Nanos>& speed_bound, OneStagePlans known);

}  // namespace weft::pipeline
