// SPDX-License-Identifier: Apache-2.0
// Makes estimates for recomputation: a lower bound of the step under memory limits, and a first
// choice of the stages that recompute. Both apply to plans with one stage per device only.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// A lower bound of the step over all choices of stages that recompute. Each stage counts in the
/// better of its two modes (rounds.h), independently of the other stages. `pipeline` is the
/// pipeline of the stages without memory limits. Returns kNothingFits if a stage holds no
/// micro-batch.
constexpr Nanos kNothingFits = std::int64_t{1} << 61;
Nanos bound_within_memory(const Task& task, const std::vector<PlannedStage>& stages,
                          const Pipeline& pipeline);

/// Sets PlannedStage::recompute by a heuristic: a stage recomputes only if it would otherwise be
/// longer than the longest stage has to be, and if recomputing shortens it. Keeping activations is
/// preferred, because recomputation delays each micro-batch on its way to other stages.
void guess_recomputation(const Task& task, const Pipeline& pipeline,
                         std::vector<PlannedStage>& stages);

}  // namespace weft::pipeline
