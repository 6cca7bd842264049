// SPDX-License-Identifier: Apache-2.0
// Writes and reads plan files. A plan file contains everything that is needed to check it: layers,
// devices, stages, orders of ops, times and the lower bound. Format: docs/formats/pipeline.md.
#pragma once

#include <string>

#include "weft/pipeline/model/profile.h"
#include "weft/pipeline/plan/planner.h"

namespace weft {
class JsonWriter;
}

namespace weft::pipeline {

/// Writes the members that `--json` and the plan file have in common, "profile" to "stages", into
/// an object that the caller has opened.
void write_answer(JsonWriter& json, const Profile& profile, const Task& task,
                  const Planned& planned, const Pipeline& pipeline, const Timeline& timeline);

std::string plan_file(const Profile& profile, const Task& task, const Planned& planned,
                      const Pipeline& pipeline, const Schedule& schedule, const Timeline& timeline);

/// The content of a plan file. Reading does not check that step and bound are right; the code in
/// verify/ checks this.
struct ReadPlan {
  std::string file;
  Profile profile;  ///< its layers stand in the order of the stages
  Task task;
  std::vector<PlannedStage> stages;
  std::string schedule_name;
  Schedule schedule;  ///< the order of ops of each group
  Nanos step = 0, bound = 0;
  std::int32_t most_chunks =
      0;  ///< the bound is for plans with at most this many stages per device
};
Result<ReadPlan> parse_plan(std::string_view json, const std::string& file);
Result<ReadPlan> read_plan(const std::string& path);
/// Whether the beginning of a file claims that it is a plan, even if the rest is damaged. False if
/// the file cannot be read.
bool is_plan(const std::string& path);

}  // namespace weft::pipeline
