// SPDX-License-Identifier: Apache-2.0
// SPP's partition, replication and mapping (PRM): for each number of stages the plan along an order
// of devices whose slowest stage or channel has the least work a micro-batch. Gradients' all-reduce
// is left aside.
#pragma once

#include <vector>

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {

/// One plan for each number of stages up to `most`, where there is one.
std::vector<std::vector<PlannedStage>> bottleneck_plans(const Task& task, const GroupGraph& graph,
                                                        std::int32_t most);

}  // namespace weft::pipeline
