// SPDX-License-Identifier: Apache-2.0
// The answer Weft exists for: how long would a step of this job take, without profiler, if something
// were different? The recorded steps are cleaned of what the profiler and the window put into them,
// changed, laid end to end, and replayed until they repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/predict/job.h"
#include "weft/predict/steps.h"
#include "weft/predict/what_if.h"

namespace weft::predict {

struct PredictOptions {
  std::vector<WhatIf> what_ifs;        ///< all apply together
  std::vector<cost::LinkTable> links;  ///< measured transfer times; else those of the recording
  /// Recorded steps to learn from; empty: all.
  std::vector<std::int64_t> steps;
  /// True: predict the job as recorded, profiler and all (to check a prediction against another
  /// recorded step).
  bool keep_profiler = false;
};

/// A step time and how far off it may be.
struct StepPrediction {
  Nanos step = 0;  ///< mean back-to-back step of the slowest rank
  Nanos low = 0, high = 0;
  std::vector<std::int32_t> ranks;
  std::vector<Nanos> rank_step;  ///< mean step of each rank
};

struct Prediction {
  StepPrediction baseline;   ///< nothing changed, no profiler
  StepPrediction predicted;  ///< with the what-ifs
  double interference = 1;   ///< how much slower compute is beside communication
  Nanos overhead_per_event = 0;  ///< taken out of the host's time, mean over ranks
};

/// A what-if that cannot be answered from this recording is an Error (kUsage) that says why and
/// lists those that can.
Result<Prediction> predict(const Job& job, const PredictOptions& options);

/// Replays the graph as recorded. A good graph gives the recorded steps back; the difference tells
/// how far to trust it.
struct SelfReplay {
  StepTimes recorded;
  StepTimes replayed;
  double worst_error = 0;  ///< largest |replayed / recorded - 1| over ranks and steps
};
SelfReplay self_replay(const Job& job);

}  // namespace weft::predict
