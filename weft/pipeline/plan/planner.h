// SPDX-License-Identifier: Apache-2.0
// From layers and a cluster to stages, replicas, devices and order of micro-batches. The objective
// is the simulated step: transfers, all-reduces and memory included, never the slowest stage alone.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct PlannerOptions {
  std::int32_t stages = 0;             ///< how many there must be; 0: any number
  std::int32_t replicas = 0;           ///< of a stage, at most; 0: no limit
  std::int32_t chunks = 4;             ///< stages that may share their devices, at most
  std::vector<std::string> schedules;  ///< to try; empty: plan_schedules()
  std::int64_t ops = 0;                ///< to simulate at most; 0: as suits the size
};

struct Planned {
  Evaluated plan;
  Schedule schedule;
  std::int32_t fixed_stages = 0, most_replicas = 0;  ///< as asked for; 0: free
  std::int32_t most_chunks = 1;
  Nanos bound = 0;            ///< no plan takes less, whatever its schedule
  Nanos one_stage_bound = 0;  ///< no plan takes less that has one stage a device
  /// No plan with one stage a device takes less with the schedules tried.
  bool exhausted = false;
};

/// What no plan can beat, whatever stages share devices: all devices busy all the time, and one
/// micro-batch there and back over all devices at once.
Nanos bound_of_all(const Task& task);

/// Weft's own planner. Infeasible: more stages than layers or devices, memory that nothing fits
/// into. Deterministic.
Result<Planned> make_plan(const Task& task, const PlannerOptions& options);

}  // namespace weft::pipeline
