// SPDX-License-Identifier: Apache-2.0
// Computes the least memory that stages need on each of their devices, and explains why no plan can
// fit. A schedule may run micro-batches one by one. So a stage needs memory for one micro-batch at
// least. With one micro-batch at a time, recomputation saves nothing on a device with one stage. It
// does save memory on a device with several stages, because only one of these stages recomputes at
// a time.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// The memory that a stage needs on each of its devices, which split every micro-batch evenly.
struct StageNeed {
  Bytes state = 0;  ///< parameters and their state
  Bytes kept = 0;   ///< activations of one micro-batch from its forward to its backward
  Bytes input = 0;  ///< what remains of `kept` if the stage recomputes: the input of the stage
};
StageNeed stage_need(const Task& task, std::int32_t first, std::int32_t last,
                     std::int32_t replicas);

/// The memory of a device with one stage that holds `alive` micro-batches at once. The stage
/// recomputes if this takes less memory.
Bytes least_need(const StageNeed& stage, Micro alive);
/// The memory of a device with several stages, each of which holds `alive` micro-batches at once.
/// It is the minimum over all choices of stages that recompute.
Bytes least_need(const std::vector<StageNeed>& stages, Micro alive);

/// Sets PlannedStage::recompute of all stages to the choice that needs the least memory.
void recompute_least(const Task& task, Micro alive, std::vector<PlannedStage>& stages);

/// The memory of each device. For a device without a limit it is the largest value of Bytes.
std::vector<Bytes> memory_limits(const Cluster& cluster);

/// Explains in one sentence with numbers why no plan can fit, under any schedule and any sharing of
/// devices. Empty if no simple argument rules all plans out. `replicas`: most devices per stage; 0:
/// no limit.
std::string why_nothing_fits(const Task& task, std::int32_t replicas);

}  // namespace weft::pipeline
