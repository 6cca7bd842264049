// SPDX-License-Identifier: Apache-2.0
// Prepares pipeline schedules as the data of Gantt charts, which web/gantt.ts draws.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/exports/scheduled.h"
#include "weft/predict/job.h"

namespace weft {
class JsonWriter;
}

namespace weft::report {

struct ScheduleChart {
  std::string title;
  pipeline::exports::Scheduled scheduled;
  std::vector<std::string> rows;  ///< one label per device, in the order of the schedule's devices
};

/// The recorded schedule and, if the solver finds one, a shorter schedule with the same stages and
/// the same memory. Empty if the job is not a pipeline.
std::vector<ScheduleChart> recorded_charts(const predict::Job& job);

/// Writes the charts as a JSON array. ScheduleChart of web/gantt.ts declares the elements of the
/// array.
void write_charts(JsonWriter& json, const std::vector<ScheduleChart>& charts);

}  // namespace weft::report
