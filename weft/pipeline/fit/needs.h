// SPDX-License-Identifier: Apache-2.0
// What stages need at least of each of their devices, whatever step comes of it. All micro-batches
// may pass one by one: then a stage keeps one, and to recompute saves nothing unless stages share
// devices, which recompute one after the other.
#pragma once

#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// Of one of the devices that split the micro-batches of a stage.
struct StageNeed {
  Bytes state = 0;  ///< parameters and what belongs to them
  Bytes kept = 0;   ///< of a micro-batch from forward to backward
  Bytes input = 0;  ///< all that is kept of it where the stage recomputes
};
StageNeed stage_need(const Task& task, std::int32_t first, std::int32_t last,
                     std::int32_t replicas);

/// Of one device of a stage that keeps `alive` micro-batches at once, recomputing if that is less.
Bytes least_need(const StageNeed& stage, Micro alive);
/// Of a device with these stages, `alive` micro-batches of each kept at once, with the best choice
/// of those that recompute.
Bytes least_need(const std::vector<StageNeed>& stages, Micro alive);

/// Makes that choice on all groups of devices.
void recompute_least(const Task& task, Micro alive, std::vector<PlannedStage>& stages);

/// Memory of each device; the largest number where it has no limit.
std::vector<Bytes> memory_limits(const Cluster& cluster);

/// Why no plan can fit, whatever its stages share and its schedule is: a sentence with numbers;
/// empty where nothing simple rules plans out. `replicas`: of a stage, at most.
std::string why_nothing_fits(const Task& task, std::int32_t replicas);

}  // namespace weft::pipeline
