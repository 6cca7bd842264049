// SPDX-License-Identifier: Apache-2.0
// A plan made better step by step: a cut moved, devices exchanged or moved to another stage, stages
// joined, split, or made to recompute. Whatever shortens the simulated step is kept.
#pragma once

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct ImproveLimits {
  std::int32_t stages = 0;    ///< how many there must be; 0: any number
  std::int32_t replicas = 0;  ///< of a stage, at most; 0: no limit
  std::int64_t ops = 0;       ///< of the evaluator, at which to stop
  bool devices = true;        ///< exchange and move them, too
};

Evaluated improve(const Task& task, Evaluator& evaluator, const ImproveLimits& limits,
                  Evaluated plan);

}  // namespace weft::pipeline
