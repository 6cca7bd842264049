// SPDX-License-Identifier: Apache-2.0
// Reimplements the partition, replication and mapping algorithm (PRM) of SPP. SPP is a published
// pipeline planner (Luo et al., INFOCOM 2022). The algorithm assigns stages to consecutive devices
// of a given order. The bottleneck of a plan is its slowest stage or channel. For each number of
// stages, the algorithm finds the plan whose bottleneck takes the least time per micro-batch. It
// ignores the all-reduce of gradients.
#pragma once

#include <vector>

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {

/// Returns one plan per number of stages from 1 to `most`. Numbers without a plan are left out. The
/// time grows as `most` times (groups * layers^2 + edges * layers) at worst.
std::vector<std::vector<PlannedStage>> bottleneck_plans(const Task& task, const GroupGraph& graph,
                                                        std::int32_t most);

}  // namespace weft::pipeline
