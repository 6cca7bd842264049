// SPDX-License-Identifier: Apache-2.0
// SPP's partition, replication and mapping algorithm (PRM). For each number of stages it finds the
// plan along an order of devices whose slowest stage or channel takes the least time per
// micro-batch. The objective ignores the all-reduce of gradients.
#pragma once

#include <vector>

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {

/// One plan per number of stages from 1 to `most`; numbers without a plan are left out. Time grows
/// as `most` times (groups * layers^2 + edges * layers) at worst.
std::vector<std::vector<PlannedStage>> bottleneck_plans(const Task& task, const GroupGraph& graph,
                                                        std::int32_t most);

}  // namespace weft::pipeline
