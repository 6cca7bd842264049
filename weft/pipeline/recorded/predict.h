// SPDX-License-Identifier: Apache-2.0
// The step of a recorded pipeline under another schedule, or with more micro-batches, without the
// profiler.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/recorded/assemble.h"

namespace weft::pipeline::recorded {

struct ScheduleQuestion {
  std::string schedule = "1f1b";  ///< gpipe, 1f1b, interleaved
  Micro micro_batches = 0;        ///< 0: as recorded
  std::vector<cost::LinkTable> links;
};

/// One stage of the answer. Times are of the usual micro-batch: what the device takes with all
/// queued, and what the host takes to launch it.
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
  std::string recorded_schedule;  ///< gpipe, 1f1b or "" where it is neither
  Micro recorded_micro_batches = 0;
  Nanos recorded_step = 0;  ///< with profiler, of the slowest rank
  Bytes message_bytes = -1;
  MessageCost message;                          ///< of the first boundary, forwards
  bool from_table = false, table_fits = false;  ///< see MessageModel
  bool torch_takes_it = true;                   ///< see torch_takes()
};

/// An Error (kUsage) where the recording is of no pipeline, or the schedule does not fit it.
Result<ScheduleAnswer> predict_schedule(const predict::Job& job, const ScheduleQuestion& question);

}  // namespace weft::pipeline::recorded
