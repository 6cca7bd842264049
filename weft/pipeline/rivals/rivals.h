// SPDX-License-Identifier: Apache-2.0
// Makes plans as other planners and fixed schedules would make them, and times them with Weft's
// simulator. Each rival uses the order of micro-batches that its authors use.
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
/// * "spp": the planner SPP (Luo et al., INFOCOM 2022). It uses SPP's recursive device order. For
///   each number of stages, it makes the plan whose slowest stage or channel takes the least time.
///   Of these plans, the result is the plan with the shortest step under PE, SPP's order of
///   micro-batches.
/// * "pipedream": PipeDream's optimizer, which assumes equal devices. Every link counts as slow as
///   the slowest link of the cluster. The order is 1F1B.
/// * "dapple": DAPPLE's planner, with the devices in their given order. The order of micro-batches
///   is 1F1B.
///
/// Schedules, on even stages with the devices in their given order. even_cut.h has two ways to cut;
/// each schedule gets the cut that gives it the shorter step:
/// * "gpipe", "1f1b", "zb-h1", "zb-auto": one stage per device.
/// * "interleaved": two stages per device, round robin.
/// * "zb-v", "dualpipe-v": two stages per device in a V.
std::vector<std::string> rivals();
/// The plan of one rival. Infeasible if the rival finds no plan, or a plan that the cluster cannot
/// run.
Result<Evaluated> rival_plan(const Task& task, const std::string& name);

/// Figures of a plan other than its step.
struct PlanFigures {
  /// The share of the step in which a device does not compute, averaged over all devices of the
  /// cluster.
  double idle = 0;
  /// The most memory that any device holds at any time, also if memory is not limited.
  Bytes most_memory = 0;
};
Result<PlanFigures> figures_of(const Task& task, const Evaluated& plan);

}  // namespace weft::pipeline
