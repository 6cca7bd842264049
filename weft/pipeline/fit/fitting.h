// SPDX-License-Identifier: Apache-2.0
// A plan that fits into the memory of unequal devices, whatever step it takes: a start for planners
// that look along a few orders of devices, none of which may fit.
//
// Only memory counts here, so devices with equal memory are alike, and a stage may as well have the
// smallest devices that are left: larger ones are worth more to others. What is left of each size
// and the layers reached say all about a part of a plan. Where these are few, all are tried, which
// also proves that there is no plan; else the best of them.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

struct FittingLimits {
  std::int32_t stages = 0;             ///< how many there must be; 0: any number
  std::int32_t replicas = 0;           ///< of a stage, at most; 0: no limit
  std::int32_t chunks = 1;             ///< stages that may share their devices
  std::vector<std::string> schedules;  ///< one of them has to keep to memory; empty: any
  std::int64_t effort = 8'000'000;     ///< about; a part of a plan takes ten or more
};

enum class Fit { kFound, kNone, kUnknown };

struct Fitting {
  Fit answer = Fit::kUnknown;  ///< kNone is proved
  std::vector<PlannedStage> stages;
};

/// With one stage a device.
Fitting fit_stages(const Task& task, const FittingLimits& limits);
/// With stages that share devices, in any order of micro-batches.
Fitting fit_shared_stages(const Task& task, const FittingLimits& limits);

}  // namespace weft::pipeline
