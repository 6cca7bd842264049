// SPDX-License-Identifier: Apache-2.0
// The schedule of a recorded pipeline in the form that a drawing needs: stages with their median
// times, and the order in which they ran micro-batches.
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

/// Of a job with several replicas, the schedule of the slowest one. Memory is counted in
/// micro-batches, and the limit of a device is what it held. Fails with kUsage if the recording is
/// not one of a pipeline, or if its order is neither 1F1B nor GPipe.
Result<RecordedSchedule> recorded_schedule(const predict::Job& job);

}  // namespace weft::pipeline::recorded
