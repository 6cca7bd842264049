// SPDX-License-Identifier: Apache-2.0
// The schedule of a recorded pipeline, as a picture needs it: stages with their usual times, and
// the order in which they ran micro-batches.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/schedule/schedule.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

struct RecordedSchedule {
  Pipeline pipeline;  ///< one stage a device, whole backwards
  Schedule schedule;
  std::string name;                 ///< 1f1b or gpipe
  std::vector<std::int32_t> ranks;  ///< of each stage
};

/// Of a job of several replicas the slowest. Devices may hold as many micro-batches as they did. An
/// Error (kUsage) where the recording is of no pipeline, or of one with another order.
Result<RecordedSchedule> recorded_schedule(const predict::Job& job);

}  // namespace weft::pipeline::recorded
