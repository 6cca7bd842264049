// SPDX-License-Identifier: Apache-2.0
// Predicts how long a step of a job takes without profiler, unchanged or with changes (what-ifs).
// The effects of profiling are removed from the recorded steps, and the changes are made. The steps
// are then repeated several times, one after the other, and replayed. The last repetition is the
// answer. README.md lists these parts in their exact order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/graph/edit.h"
#include "weft/predict/breakdown.h"
#include "weft/predict/job.h"
#include "weft/predict/steps.h"
#include "weft/predict/what_if.h"
#include "weft/sim/stragglers.h"

namespace weft::predict {

struct PredictOptions {
  std::vector<WhatIf> what_ifs;  ///< all of them apply together
  std::vector<cost::LinkTable>
      links;  ///< measured transfer times; if it is empty, the recorded times are used
  /// Numbers of the recorded steps that are the basis of the prediction. Empty: all steps.
  std::vector<std::int64_t> steps;
  /// True: predict the job as recorded, with the profiler. Use this to compare a prediction with
  /// another recorded step.
  bool keep_profiler = false;
};

/// A predicted step time with its error bar.
struct StepPrediction {
  Nanos step = 0;  ///< mean step of the slowest rank when steps follow each other without pause
  Nanos low = 0, high = 0;  ///< ends of the error bar
  /// The what-if workers=N: the measured number of ranks from which transfers are extrapolated to N
  /// ranks. The error bar grows with the distance. 0 if nothing is extrapolated.
  std::int32_t extrapolated_from = 0;
  std::vector<std::int32_t> ranks;
  std::vector<Nanos> rank_step;  ///< one entry per rank: its mean step
  /// rank_steps[rank index] has one entry for each step in PredictOptions::steps, in the same
  /// order.
  std::vector<std::vector<Nanos>> rank_steps;
  /// The rank that the job waits for. Ranks that wait for each other take equally long, so several
  /// ranks may have the longest step. Of the ranks within 0.1 % of the longest step, this is the
  /// one that waits least.
  std::int32_t slowest_rank = -1;
  Breakdown breakdown;  ///< divides the mean step of slowest_rank; its parts add up to that step
};

struct Prediction {
  StepPrediction baseline;   ///< the step without profiler and without other changes
  StepPrediction predicted;  ///< the step with the what-ifs; equals baseline if there are none
  /// Duration of compute beside communication / duration of the same compute alone.
  double interference = 1;
  Nanos overhead_per_event = 0;  ///< profiler cost removed per host event, mean over ranks
};

/// Predicts the step of a job. If the recording cannot answer a what-if, the result is an Error
/// (kUsage). The Error says why, and lists the what-ifs that the recording can answer.
Result<Prediction> predict(const Job& job, const PredictOptions& options);

/// Answers many questions about one job. Work that all questions need is done only once. Keeps a
/// reference to the job. Copies of a Predictor share their state. Several threads may use it at
/// once.
class Predictor {
 public:
  /// Prepares the answers. Ignores options.what_ifs. An Error (kUsage) if the recording has no
  /// steps, if options.steps names unknown steps, or if no step was recorded on all ranks.
  static Result<Predictor> make(const Job& job, const PredictOptions& options);

  /// Predicts the step without profiler and without other changes.
  Result<StepPrediction> baseline() const;
  /// Predicts the step with all these what-ifs together. Fails in the same cases as predict().
  Result<StepPrediction> ask(const std::vector<WhatIf>& what_ifs) const;
  /// Predicts the length of the step after an edit of clean(), without an error bar. An edit that
  /// changes only times takes much less time than one that changes the structure.
  Result<Nanos> step_with(const graph::Edit& edit) const;
  /// Returns the keys of the what-ifs that this recording can answer, in the order of
  /// what_if_keys().
  std::vector<std::string> answerable() const;
  /// Returns the cleaned graph, from which planners build other steps. It has no cost of the
  /// profiler, compute is as fast as it is alone, and transfers have measured times.
  const graph::Graph& clean() const;
  /// Returns the numbers of the recorded steps that are the basis of predictions.
  const std::vector<std::int64_t>& steps() const;
  /// Predicts the step of a graph that was built from pieces of clean() and has the same steps. The
  /// graph is repeated and replayed with contention, as for all predictions.
  Result<StepPrediction> settle(const graph::Graph& graph) const;
  /// True if one of the given link tables fits a transfer of the job.
  bool uses_tables() const;
  double interference() const;
  Nanos overhead_per_event() const;

 private:
  class Core;
  explicit Predictor(std::shared_ptr<const Core> core) : core_(std::move(core)) {}
  std::shared_ptr<const Core> core_;
};

/// Returns the keys of the what-ifs that this recording can answer with these tables. Returns
/// nothing if the recording has no steps.
std::vector<std::string> answerable(const Job& job, const std::vector<cost::LinkTable>& links);

/// Returns the options for a straggler analysis of this job. Peers have the same name in op
/// timelines, and the same position in profiler traces.
sim::StragglerOptions straggler_options(const Job& job);

/// The result of replaying the recorded graph without changes. If the graph is right, the replayed
/// steps equal the recorded ones. So the difference shows how much the graph can be trusted.
struct SelfReplay {
  StepTimes recorded;
  StepTimes replayed;
  double worst_error = 0;  ///< largest |replayed / recorded - 1| over ranks and steps
};
SelfReplay self_replay(const Job& job);

}  // namespace weft::predict
