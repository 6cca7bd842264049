// SPDX-License-Identifier: Apache-2.0
// DAPPLE's planner: it puts one stage after another on the next devices of their order, takes what
// is left as one last stage, and keeps the split with the shortest estimated step.
//
// The estimate turns around a pivot stage Q, the one that has no bubbles in the steady phase.
// Channels count as stages, forward and backward each as half of both together:
//   forwards up to Q + (M-1) (forward and backward of Q)
//   + max over s of all-reduce(s) + backwards from s to Q (less those from Q to s where s > Q).
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

std::vector<PlannedStage> dapple_stages(const Task& task);

}  // namespace weft::pipeline
