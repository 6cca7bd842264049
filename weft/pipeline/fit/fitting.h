// SPDX-License-Identifier: Apache-2.0
// Finds some plan that fits into the memory of the devices, without regard to the step. The planner
// searches along a few orders of devices only. If devices have unequal memory, it can happen that
// no plan along these orders fits. The planner then starts from the plan that is found here.
//
// Only memory matters, so devices with equal memory are interchangeable. A stage takes the smallest
// devices that fit, since larger ones are more useful to other stages. So the state of a partial
// plan is the number of devices left of each size and the number of layers placed. If there are few
// such states, the search tries all of them. If it then finds no plan, this proves that none
// exists. If there are many states, a beam search tries the most promising ones.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

struct FittingLimits {
  std::int32_t stages = 0;    ///< required number of stages; 0: any
  std::int32_t replicas = 0;  ///< most devices per stage; 0: no limit
  std::int32_t chunks = 1;    ///< most stages that may share the same devices
  /// The plan must fit under at least one of these schedules; empty: under any order.
  std::vector<std::string> schedules;
  std::int64_t effort = 8'000'000;  ///< approximate; a partial plan costs ten units or more
};

enum class Fit {
  kFound,
  kNone,     ///< proved: no plan fits
  kUnknown,  ///< the search ended without a plan or a proof
};

struct Fitting {
  Fit answer = Fit::kUnknown;
  std::vector<PlannedStage> stages;
};

/// Plans with one stage per device.
Fitting fit_stages(const Task& task, const FittingLimits& limits);
/// Plans whose stages may share devices, under any order of micro-batches.
Fitting fit_shared_stages(const Task& task, const FittingLimits& limits);

}  // namespace weft::pipeline
