// SPDX-License-Identifier: Apache-2.0
// For tests: the file of what the planner makes of a task. Throws where it makes nothing.
#pragma once

#include "weft/pipeline/plan_file.h"

namespace weft::pipeline {

inline std::string file_of(const Profile& profile, const Task& task,
                           const PlannerOptions& options = {}) {
  const Planned planned = make_plan(task, options).value();
  const Pipeline pipeline = pipeline_of(task, planned.plan.stages).value();
  const Timeline timeline = simulate(pipeline, planned.schedule).value();
  return plan_file(profile, task, planned, pipeline, planned.schedule, timeline);
}

}  // namespace weft::pipeline
