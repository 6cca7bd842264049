// SPDX-License-Identifier: Apache-2.0
// For tests: a small planning task, and the plan file of the planner's answer to a task.
#pragma once

#include "weft/pipeline/plan/plan_file.h"

namespace weft::pipeline {

/// Four micro-batches on three equal devices.
inline Task small_task(const Profile& profile) {
  Task task;
  task.chain = layer_chain(profile);
  task.micro_batches = 4;
  task.cluster = uniform_cluster(3, 50'000'000'000, 2000);
  return task;
}

/// Throws if the planner finds no plan.
inline std::string file_of(const Profile& profile, const Task& task,
                           const PlannerOptions& options = {}) {
  const Planned planned = make_plan(task, options).value();
  const Pipeline pipeline = pipeline_of(task, planned.plan.stages).value();
  const Timeline timeline = simulate(pipeline, planned.schedule).value();
  return plan_file(profile, task, planned, pipeline, planned.schedule, timeline);
}

}  // namespace weft::pipeline
