// SPDX-License-Identifier: Apache-2.0
// The answer Weft exists for: how long would a step of this job take, without profiler, if
// something were different? The recorded steps are cleaned of what the profiler and the window put
// into them, changed, laid end to end, and replayed until they repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/predict/breakdown.h"
#include "weft/predict/job.h"
#include "weft/predict/steps.h"
#include "weft/predict/what_if.h"
#include "weft/sim/stragglers.h"

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
  /// rank_steps[rank index]: one entry for each recorded step that was learnt from, in their order.
  std::vector<std::vector<Nanos>> rank_steps;
  /// The rank that the job waits for: of those whose step is the longest (to 0.1 %, as ranks that
  /// wait for each other take equally long) the one that waits least.
  std::int32_t slowest_rank = -1;
  Breakdown breakdown;  ///< of that rank's mean step, to which it adds up
};

struct Prediction {
  StepPrediction baseline;       ///< nothing changed, no profiler
  StepPrediction predicted;      ///< with the what-ifs
  double interference = 1;       ///< how much slower compute is beside communication
  Nanos overhead_per_event = 0;  ///< taken out of the host's time, mean over ranks
};

/// A what-if that cannot be answered from this recording is an Error (kUsage) that says why and
/// lists those that can.
Result<Prediction> predict(const Job& job, const PredictOptions& options);

/// For many questions about one job: what they share is worked out once. Keeps references to the
/// job and, of the options, everything but the what-ifs. May be asked from several threads at once.
class Predictor {
 public:
  static Result<Predictor> make(const Job& job, const PredictOptions& options);

  /// Nothing changed, no profiler.
  Result<StepPrediction> baseline() const;
  /// All what-ifs together; refused as predict() does.
  Result<StepPrediction> ask(const std::vector<WhatIf>& what_ifs) const;
  /// Keys that this recording can answer, in the order of what_if_keys().
  std::vector<std::string> answerable() const;
  /// The recorded steps without profiler, compute as fast as it is with no communication beside it,
  /// transfers as measured: what planners build other steps of.
  const graph::Graph& clean() const;
  /// The numbers of the steps that are learnt from.
  const std::vector<std::int64_t>& steps() const;
  /// The step of a graph built of pieces of clean(), with the same steps: laid end to end and
  /// replayed beside communication, as all answers are.
  Result<StepPrediction> settle(const graph::Graph& graph) const;
  /// Whether a link table that was given fits any transfer of the job.
  bool uses_tables() const;
  double interference() const;
  Nanos overhead_per_event() const;

 private:
  class Core;
  explicit Predictor(std::shared_ptr<const Core> core) : core_(std::move(core)) {}
  std::shared_ptr<const Core> core_;
};

/// Keys that can be answered from this recording with these tables.
std::vector<std::string> answerable(const Job& job, const std::vector<cost::LinkTable>& links);

/// Which ops of this job ought to take equally long.
sim::StragglerOptions straggler_options(const Job& job);

/// Replays the graph as recorded. A good graph gives the recorded steps back; the difference tells
/// how far to trust it.
struct SelfReplay {
  StepTimes recorded;
  StepTimes replayed;
  double worst_error = 0;  ///< largest |replayed / recorded - 1| over ranks and steps
};
SelfReplay self_replay(const Job& job);

}  // namespace weft::predict
