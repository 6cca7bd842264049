// SPDX-License-Identifier: Apache-2.0
// Finds out what makes the step slow, and by how much. The results are called findings. A finding
// is something that could be removed from the job. Its gain is an answer of the predictor: the step
// of the job without profiler, minus the step without the finding. It is never a sum of durations.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/diagnose/finding_kind.h"
#include "weft/diagnose/path.h"
#include "weft/diagnose/removals.h"
#include "weft/diagnose/skew.h"
#include "weft/predict/predict.h"
#include "weft/sim/stragglers.h"

namespace weft::diagnose {

constexpr std::size_t kFindingOps = 20;  ///< a finding lists at most this many ops

/// An op that loses time through a removal.
struct FindingOp {
  graph::OpId op = graph::kNoId;
  Nanos time = 0;   ///< what the op and the pause before it lose together
  Nanos pause = 0;  ///< what the pause before the op loses
};

struct Finding {
  FindingKind kind = FindingKind::kStraggler;
  std::string title;       ///< what is removed: "the delay of rank 2", "memory copies"
  std::string what;        ///< one sentence with numbers, but without the gain
  std::int32_t rank = -1;  ///< the rank on which the finding takes most time; -1: none
  std::int64_t step = -1;  ///< the step in which the finding takes most time on `rank`; -1: none
  /// The lane on which the finding takes most time: "stream 7", "thread 12"; empty: none.
  std::string lane;
  std::vector<std::int32_t> ranks;  ///< all ranks that the finding concerns
  /// How much shorter the predicted step would be without the finding.
  Nanos gain = 0;
  /// The finding's time on `rank`, mean per step; includes time that other work hides.
  Nanos time = 0;
  std::int64_t count = 0;  ///< number of ops of the finding, on all ranks
  /// The part of `time` that is pauses before ops, in which the lane has no recorded op.
  Nanos pause = 0;
  /// The ops that lose most time through the removal. Largest first, at most kFindingOps.
  std::vector<FindingOp> ops;
  std::string advice;  ///< what the user can do about it
  /// The what-if of `weft replay` that is most like the removal; may be empty.
  std::string what_if;
  Removal removal;
};

struct FindingOptions {
  double least_share = 0.005;  ///< a finding is dropped if its gain is below this share of the step
};

/// Computes for each rank the mean length of its complete steps, and returns the longest of these
/// means. Returns 0 if there are no complete steps.
Nanos mean_step(const predict::StepTimes& steps);

/// Returns the findings, largest gain first. `stragglers` is the analysis of the same job, or
/// nullptr if the job has only one rank. `predictor` must predict the same job; it is asked once
/// per suspect, in parallel. The result does not depend on the number of threads.
Result<std::vector<Finding>> find_findings(const predict::Job& job,
                                           const predict::Predictor& predictor,
                                           const sim::StragglerReport* stragglers,
                                           const FindingOptions& options);

}  // namespace weft::diagnose
