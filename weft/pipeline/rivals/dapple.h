// SPDX-License-Identifier: Apache-2.0
// Reimplements DAPPLE's planner, which assigns stages to consecutive devices in their given order.
// Each partial plan is completed by one last stage with all layers and devices left, and the plan
// with the shortest estimated step is kept.
//
// The estimate is built around a pivot stage Q, the stage without bubbles in the steady phase.
// Channels count as stages, and every stage's forward and backward each count as half of their sum:
//   step = forwards up to and including Q + (M-1) (forward and backward of Q)
//        + max over s of (all-reduce(s) + backwards from s to Q),
// where for stages s behind Q the backwards from Q to s are subtracted instead of added.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

std::vector<PlannedStage> dapple_stages(const Task& task);

}  // namespace weft::pipeline
