// SPDX-License-Identifier: Apache-2.0
// What others would plan, timed with the same simulator. Each keeps to the order that its authors
// run it with.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

/// Stages on devices: one on each, two in turn, or two in a V.
enum class Placement { kOne, kTurns, kV };

/// Even stages, cut in both ways of even_cut.h, on all devices in their order, or as many as there
/// are layers for.
Result<std::vector<std::vector<PlannedStage>>> even_stages(const Task& task, Placement placement);

/// Planners: "spp": recursive order of devices, for each number of stages the plan with the least
/// slowest stage or channel, PE; the best of them. "pipedream": its optimizer on equal devices with
/// the slowest link of the cluster, 1F1B. "dapple": its estimate of the step around a pivot stage,
/// devices in their order, 1F1B.
/// Schedules, for even stages on devices in their order: cut so that the slowest is as quick as can
/// be, or where each has its share of all work, whichever suits the schedule better. "gpipe",
/// "1f1b", "zb-h1", "zb-auto" with one stage a device, "interleaved" with two in turn, "zb-v" and
/// "dualpipe-v" with two in a V.
std::vector<std::string> rivals();
/// Infeasible where the rival finds no plan, or one that the cluster does not allow.
Result<Evaluated> rival_plan(const Task& task, const std::string& name);

/// What a plan does to the devices, beside the time it takes.
struct PlanFigures {
  double idle = 0;        ///< share of the time of all devices of the cluster without computation
  Bytes most_memory = 0;  ///< that one device ever holds, whether limits are asked for or not
};
Result<PlanFigures> figures_of(const Task& task, const Evaluated& plan);

}  // namespace weft::pipeline
