// SPDX-License-Identifier: Apache-2.0
// What others would plan, timed with the same simulator. Each keeps to the order that its authors
// run it with.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/evaluate.h"

namespace weft::pipeline {

/// "spp": recursive order of devices, for each number of stages the plan with the least slowest
/// stage or channel, PE; the best of them. "pipedream": its optimizer on equal devices with the
/// slowest link of the cluster, 1F1B. "dapple": its estimate of the step around a pivot stage,
/// devices in their order, 1F1B. "1f1b", "gpipe": one stage a device, layers of equal work.
std::vector<std::string> rivals();
/// Infeasible where the rival finds no plan, or one that the cluster does not allow.
Result<Evaluated> rival_plan(const Task& task, const std::string& name);

}  // namespace weft::pipeline
