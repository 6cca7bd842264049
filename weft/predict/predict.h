// SPDX-License-Identifier: Apache-2.0
// Predicts how long a step of a job takes without profiler, as it is or with changes (what-ifs).
// The recorded steps are cleaned of the effects of profiling, changed, laid end to end several
// times, and replayed; the last repetition is the answer. README.md lists the order in detail.
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
  std::vector<WhatIf> what_ifs;  ///< all apply together
  std::vector<cost::LinkTable>
      links;  ///< measured transfer times; if empty, recorded ones are used
  /// Numbers of the recorded steps to predict from; empty: all.
  std::vector<std::int64_t> steps;
  /// True: predict the job as recorded, with the profiler. For comparing a prediction with another
  /// recorded step.
  bool keep_profiler = false;
};

/// A predicted step time with its error bar.
struct StepPrediction {
  Nanos step = 0;           ///< mean back-to-back step of the slowest rank
  Nanos low = 0, high = 0;  ///< ends of the error bar
  std::vector<std::int32_t> ranks;
  std::vector<Nanos> rank_step;  ///< mean step of each rank
  /// rank_steps[rank index]: one entry per recorded step in PredictOptions::steps, in their order.
  std::vector<std::vector<Nanos>> rank_steps;
  /// The rank that the job waits for. Several ranks may have the longest step, because ranks that
  /// wait for each other take equally long; of those within 0.1 %, this is the one that waits
  /// least.
  std::int32_t slowest_rank = -1;
  Breakdown breakdown;  ///< of the mean step of slowest_rank; adds up to that step
};

struct Prediction {
  StepPrediction baseline;       ///< without profiler, nothing else changed
  StepPrediction predicted;      ///< with the what-ifs; equals baseline if there are none
  double interference = 1;       ///< duration of compute beside communication / alone
  Nanos overhead_per_event = 0;  ///< profiler cost removed per host event, mean over ranks
};

/// A what-if that this recording cannot answer is an Error (kUsage) that says why and lists those
/// that it can answer.
Result<Prediction> predict(const Job& job, const PredictOptions& options);

/// Answers many questions about one job; the work that they share is done once. Keeps a reference
/// to the job. Copies of a Predictor share their state. May be used from several threads at once.
class Predictor {
 public:
  /// Ignores options.what_ifs. An Error (kUsage) if the recording has no steps, if options.steps
  /// names unknown ones, or if no step was recorded on all ranks.
  static Result<Predictor> make(const Job& job, const PredictOptions& options);

  /// The step without profiler, nothing else changed.
  Result<StepPrediction> baseline() const;
  /// The step with all these what-ifs together. Fails as predict() does.
  Result<StepPrediction> ask(const std::vector<WhatIf>& what_ifs) const;
  /// Keys of the what-ifs that this recording can answer, in the order of what_if_keys().
  std::vector<std::string> answerable() const;
  /// The cleaned graph from which planners build other steps: without profiler, with compute as
  /// fast as it is alone, and with measured transfer times.
  const graph::Graph& clean() const;
  /// The numbers of the recorded steps that predictions are made from.
  const std::vector<std::int64_t>& steps() const;
  /// The step of a graph that was built from pieces of clean() and has the same steps. The graph is
  /// repeated and replayed with contention, as for all predictions.
  Result<StepPrediction> settle(const graph::Graph& graph) const;
  /// True if a given link table fits any transfer of the job.
  bool uses_tables() const;
  double interference() const;
  Nanos overhead_per_event() const;

 private:
  class Core;
  explicit Predictor(std::shared_ptr<const Core> core) : core_(std::move(core)) {}
  std::shared_ptr<const Core> core_;
};

/// Keys of the what-ifs that this recording can answer with these tables; empty if it has no steps.
std::vector<std::string> answerable(const Job& job, const std::vector<cost::LinkTable>& links);

/// The options for a straggler analysis of this job: peers by name for op timelines, peers by
/// position for profiler traces.
sim::StragglerOptions straggler_options(const Job& job);

/// The result of replaying the graph as recorded. If the graph is right, the replayed steps equal
/// the recorded ones; the difference shows how far to trust the graph.
struct SelfReplay {
  StepTimes recorded;
  StepTimes replayed;
  double worst_error = 0;  ///< largest |replayed / recorded - 1| over ranks and steps
};
SelfReplay self_replay(const Job& job);

}  // namespace weft::predict
