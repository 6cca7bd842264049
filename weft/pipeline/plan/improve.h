// SPDX-License-Identifier: Apache-2.0
// Local search (hill climbing) over plans with one stage per device. A move shifts a cut, exchanges
// devices between stages, moves a device to another stage, merges or splits stages, or changes
// whether a stage recomputes. Every move that shortens the simulated step is kept.
#pragma once

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct ImproveLimits {
  std::int32_t stages = 0;    ///< required number of stages; 0: any
  std::int32_t replicas = 0;  ///< most devices per stage; 0: no limit
  std::int64_t ops = 0;       ///< value of Evaluator::ops() at which the search stops
  bool devices = true;        ///< whether moves may change the devices of stages
};

/// Returns `plan` or a better plan. Ends when no move helps any more or when the effort is spent.
Evaluated improve(const Task& task, Evaluator& evaluator, const ImproveLimits& limits,
                  Evaluated plan);

}  // namespace weft::pipeline
