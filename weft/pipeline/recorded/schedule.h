// SPDX-License-Identifier: Apache-2.0
// Finds the schedule of a recorded pipeline, in the form that a drawing needs: stages with their
// median times, and the order in which they ran micro-batches.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/schedule/schedule.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

struct RecordedSchedule {
  Pipeline pipeline;  ///< one stage per device, backwards whole
  Schedule schedule;
  std::string name;                 ///< 1f1b or gpipe
  std::vector<std::int32_t> ranks;  ///< per stage
};

/// Returns the schedule of a recorded pipeline. If the job has several replicas, it is the schedule
/// of the slowest replica. Memory is counted in micro-batches. The memory limit of a device is the
/// largest number of micro-batches that the device held at once. Fails with kUsage if the recorded
/// job is not a pipeline, or if the order of its ops is neither 1F1B nor GPipe.
Result<RecordedSchedule> recorded_schedule(const predict::Job& job);

}  // namespace weft::pipeline::recorded
