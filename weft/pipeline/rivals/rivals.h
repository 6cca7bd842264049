// SPDX-License-Identifier: Apache-2.0
// Plans as other planners and fixed schedules would make them, timed with Weft's simulator. Each
// rival uses the order of micro-batches that its authors use.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

/// How stages are placed on devices: one stage per device; two stages per device, round robin
/// (0 1 2 0 1 2); or two stages per device in a V (0 1 2 2 1 0).
enum class Placement { kOnePerDevice, kRoundRobin, kV };

/// Plans with even stages: one per function of even_cut.h. They use all devices in their order, or
/// fewer if there are too few layers.
Result<std::vector<std::vector<PlannedStage>>> even_stages(const Task& task, Placement placement);

/// The names of all rivals.
///
/// Planners:
/// * "spp": SPP's recursive device order and, for each number of stages, the plan with the least
///   slowest stage or channel; the best of these plans under SPP's order PE.
/// * "pipedream": PipeDream's optimizer, which assumes equal devices, with the slowest link of the
///   cluster; 1F1B.
/// * "dapple": DAPPLE's planner, with the devices in their given order; 1F1B.
///
/// Schedules, on even stages with the devices in their given order; of the two cuts of even_cut.h
/// the better one for the schedule:
/// * "gpipe", "1f1b", "zb-h1", "zb-auto": one stage per device.
/// * "interleaved": two stages per device, round robin.
/// * "zb-v", "dualpipe-v": two stages per device in a V.
std::vector<std::string> rivals();
/// The plan of one rival. Infeasible if the rival finds no plan, or one that the cluster cannot
/// run.
Result<Evaluated> rival_plan(const Task& task, const std::string& name);

/// Figures of a plan other than its step.
struct PlanFigures {
  double idle = 0;  ///< share of the step, over all devices of the cluster, without computation
  Bytes most_memory = 0;  ///< peak memory of the fullest device, also if memory is not limited
};
Result<PlanFigures> figures_of(const Task& task, const Evaluated& plan);

}  // namespace weft::pipeline
