// SPDX-License-Identifier: Apache-2.0
// A plan as a file that says all that is needed to check it: layers, devices, stages, orders, times
// and the bound. Format: docs/formats/pipeline.md.
#pragma once

#include <string>

#include "weft/pipeline/model/profile.h"
#include "weft/pipeline/plan/planner.h"

namespace weft {
class JsonWriter;
}

namespace weft::pipeline {

/// Members "step_ms" to "stages" of an object being written: what --json and the file share.
void write_answer(JsonWriter& json, const Profile& profile, const Task& task,
                  const Planned& planned, const Pipeline& pipeline, const Timeline& timeline);

std::string plan_file(const Profile& profile, const Task& task, const Planned& planned,
                      const Pipeline& pipeline, const Schedule& schedule, const Timeline& timeline);

/// What such a file says. Whether step and bound are true is for verify/ to tell.
struct ReadPlan {
  std::string file;
  Profile profile;  ///< layers in the order of the stages
  Task task;
  std::vector<PlannedStage> stages;
  std::string schedule_name;
  Schedule schedule;  ///< an order for each group of devices
  Nanos step = 0, bound = 0;
};
Result<ReadPlan> parse_plan(std::string_view json, const std::string& file);
Result<ReadPlan> read_plan(const std::string& path);
/// Whether a file says that it is a plan, however damaged. False for what cannot be read.
bool is_plan(const std::string& path);

}  // namespace weft::pipeline
