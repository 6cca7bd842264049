// SPDX-License-Identifier: Apache-2.0
// A plan as a file that says all that is needed to check it: layers, devices, stages, orders, times
// and the bound. Format: docs/formats/pipeline.md.
#pragma once

#include <string>

#include "weft/pipeline/planner.h"
#include "weft/pipeline/profile.h"

namespace weft {
class JsonWriter;
}

namespace weft::pipeline {

/// Members "step_ms" to "stages" of an object being written: what --json and the file share.
void write_answer(JsonWriter& json, const Profile& profile, const Task& task,
                  const Planned& planned, const Pipeline& pipeline, const Timeline& timeline);

std::string plan_file(const Profile& profile, const Task& task, const Planned& planned,
                      const Pipeline& pipeline, const Schedule& schedule, const Timeline& timeline);

}  // namespace weft::pipeline
