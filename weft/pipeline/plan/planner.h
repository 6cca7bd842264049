// SPDX-License-Identifier: Apache-2.0
// The planner: it chooses stages, their devices, which stages recompute, and the order of
// micro-batches. It minimizes the simulated step, which includes transfers, all-reduces and memory
// limits. The time of the slowest stage alone is not a good objective: the plan whose slowest stage
// is as fast as possible can take over a tenth longer than the best plan.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

struct PlannerOptions {
  std::int32_t stages = 0;    ///< required number of stages; 0: any
  std::int32_t replicas = 0;  ///< most devices per stage; 0: no limit
  std::int32_t chunks = 4;    ///< most stages that may share the same devices
  /// Schedules that the plan may use; empty: the schedules of plan_schedules() and
  /// shared_schedules(), and schedules that a search finds.
  std::vector<std::string> schedules;
  std::int64_t ops = 0;  ///< effort in simulated ops; 0: chosen from the size of the task
};

struct Planned {
  Evaluated plan;
  Schedule schedule;
  std::int32_t fixed_stages = 0, most_replicas = 0;  ///< as in PlannerOptions; 0: any number
  std::int32_t most_chunks = 1;
  Nanos bound = 0;            ///< lower bound of the step over all plans and schedules
  Nanos one_stage_bound = 0;  ///< lower bound over all plans with one stage per device
  /// Whether the search proved that no plan with one stage per device has a shorter step under the
  /// schedules that it tried. Plan files call this `no_shorter_one_stage_plan`.
  bool exhausted = false;
};

/// A lower bound of the step over all plans, including those whose stages share devices. It is the
/// larger of two bounds. The first assumes that all devices are busy during the whole step. The
/// second is the time of one micro-batch, forward and backward, with every layer on all devices at
/// once.
Nanos bound_of_all(const Task& task);

/// Plans a task. Infeasible if there are more stages than layers or devices allow, or if no plan
/// fits into memory. Deterministic: effort is counted in simulated ops, not in seconds.
Result<Planned> make_plan(const Task& task, const PlannerOptions& options);

}  // namespace weft::pipeline
