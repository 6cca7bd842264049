// SPDX-License-Identifier: Apache-2.0
// Plans whose stages share devices: each group of devices has several stretches of layers. In
// rounds (0 1 2 0 1 2) or there and back (0 1 2 2 1 0) the way to the last group is shorter, and
// with it the time in which groups wait for their first and after their last micro-batch; that pays
// where micro-batches are few and links are cheap. Groups of several devices hide all-reduces of
// their last stages behind gradients of the others.
#pragma once

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct InterleaveLimits {
  std::int32_t chunks = 1;    ///< stages of a group, at most
  std::int32_t stages = 0;    ///< how many there must be; 0: any number
  std::int32_t replicas = 0;  ///< of a stage, at most; 0: no limit
  std::int64_t ops = 0;       ///< of the evaluator, at which to stop
};

/// `best`, or a better plan of that kind. Rows of groups are those of `best`, and equal
/// parts or any two parts of `orders` of the devices; up to four devices, all there are.
Evaluated interleave(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
                     const std::vector<std::vector<std::int32_t>>& orders, Evaluated best);

}  // namespace weft::pipeline
