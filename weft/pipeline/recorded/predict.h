// SPDX-License-Identifier: Apache-2.0
// Predicts the step of a recorded pipeline, without the profiler, under another schedule or with
// another number of micro-batches.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/recorded/assemble.h"

namespace weft::pipeline::recorded {

struct ScheduleQuestion {
  std::string schedule = "1f1b";  ///< gpipe, 1f1b or interleaved
  Micro micro_batches = 0;        ///< 0: as recorded
  std::vector<cost::LinkTable> links;
};

/// One stage of the answer. The times are medians over micro-batches. A device time is how long the
/// device takes for a pass if all kernels of the pass are already queued. A host time is how long
/// the host takes to launch these kernels.
struct StageAnswer {
  std::int32_t rank = -1;
  std::int32_t layers = 0;
  Nanos forward_device = 0, forward_host = 0;
  Nanos backward_device = 0, backward_host = 0;
};

struct ScheduleAnswer {
  std::string schedule;
  Micro micro_batches = 0;
  predict::StepPrediction step;
  std::vector<StageAnswer> stages;
  std::string recorded_schedule;  ///< gpipe, 1f1b, or "" if it is neither
  Micro recorded_micro_batches = 0;
  Nanos recorded_step = 0;  ///< with the profiler, on the slowest rank
  Bytes message_bytes = -1;
  MessageCost message;  ///< cost of a forward message between the first two stages
  bool from_table = false, table_fits = false;  ///< see MessageModel
  bool torch_takes_it = true;                   ///< see torch_takes()
};

/// Fails with kUsage if the recorded job is not a pipeline, or if the pipeline cannot run the
/// schedule.
Result<ScheduleAnswer> predict_schedule(const predict::Job& job, const ScheduleQuestion& question);

}  // namespace weft::pipeline::recorded
