// SPDX-License-Identifier: Apache-2.0
// Searches plans whose stages share devices: each group of devices runs several stages, also called
// chunks. The stages visit the groups round robin (0 1 2 0 1 2) or back and forth (0 1 2 2 1 0).
//
// Stages are then shorter, so the first micro-batch reaches the last group earlier, and groups idle
// less at the start and at the end of the step. Sharing pays off if there are few micro-batches and
// messages are cheap. In addition, a group of several devices can overlap the all-reduce of its
// last stages with the backwards of its first stages.
#pragma once

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct InterleaveLimits {
  std::int32_t chunks = 1;    ///< most stages per group
  std::int32_t stages = 0;    ///< required number of stages; 0: any
  std::int32_t replicas = 0;  ///< most devices per stage; 0: no limit
  std::int64_t ops = 0;       ///< value of Evaluator::ops() at which the search stops
};

/// Returns `best` or a better plan whose stages share devices. The search tries the groups of
/// `best`, and groups that cut one of the device `orders` into equal parts or into any two parts.
/// With at most four devices it tries every sequence of disjoint groups.
Evaluated interleave(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
                     const std::vector<std::vector<std::int32_t>>& orders, Evaluated best);

}  // namespace weft::pipeline
