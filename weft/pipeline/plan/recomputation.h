// SPDX-License-Identifier: Apache-2.0
// Which stages keep the inputs of micro-batches alone and compute the rest again: what memory makes
// of a plan, and a first guess that climbs start from. All here is of stages that have their
// devices for themselves.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// No choice lets the stages take less: each in the better of its two ways (rounds.h), whatever the
/// others do. `pipeline` is theirs, without limits. kNothingFits where one holds no micro-batch.
constexpr Nanos kNothingFits = std::int64_t{1} << 61;
Nanos bound_within_memory(const Task& task, const std::vector<PlannedStage>& stages,
                          const Pipeline& pipeline);

/// Each stage in the way that makes it no longer than the longest one has to be, rather whole than
/// recomputing, since others wait for its micro-batches.
void guess_recomputation(const Task& task, const Pipeline& pipeline,
                         std::vector<PlannedStage>& stages);

}  // namespace weft::pipeline
