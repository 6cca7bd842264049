// SPDX-License-Identifier: Apache-2.0
// Schedules of pipelines for the page: what web/gantt.ts draws.
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
  std::vector<std::string> rows;  ///< names of its devices
};

/// The recorded order and the shortest for the same stages and memory; nothing where the job is no
/// pipeline.
std::vector<ScheduleChart> recorded_charts(const predict::Job& job);

/// A list of them, as web/gantt.ts reads it.
void write_charts(JsonWriter& json, const std::vector<ScheduleChart>& charts);

}  // namespace weft::report
