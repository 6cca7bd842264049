// SPDX-License-Identifier: Apache-2.0
// Findings: what slows the step down, and by how much. A finding is something that could be removed
// from the job. Its gain is found by removing it from the graph and replaying, never by adding up
// its time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/diagnose/finding_kind.h"
#include "weft/diagnose/path.h"
#include "weft/diagnose/removals.h"
#include "weft/diagnose/skew.h"
#include "weft/sim/stragglers.h"

namespace weft::diagnose {

constexpr std::size_t kFindingOps = 20;  ///< most ops that a finding lists

struct Finding {
  FindingKind kind = FindingKind::kStraggler;
  std::string title;                ///< what is removed: "the delay of rank 2", "memory copies"
  std::string what;                 ///< one sentence with numbers, but without the gain
  std::int32_t rank = -1;           ///< the rank on which it takes most time; -1: none
  std::int64_t step = -1;           ///< the step in which it takes most time on `rank`; -1: none
  std::string lane;                 ///< likewise: "stream 7", "thread 12"; empty: none
  std::vector<std::int32_t> ranks;  ///< all ranks it concerns
  Nanos gain = 0;                   ///< how much shorter the mean step of the slowest rank would be
  Nanos time = 0;                   ///< time it takes on `rank`, mean per step, hidden or not
  std::int64_t count = 0;           ///< number of ops it consists of, on all ranks
  /// The ops that it takes most time from, with that time; largest first, at most kFindingOps.
  std::vector<std::pair<graph::OpId, Nanos>> ops;
  std::string advice;   ///< what the user can do about it
  std::string what_if;  ///< the what-if of `weft replay` that comes closest; may be empty
  Removal removal;
};

struct FindingOptions {
  double least_share = 0.005;  ///< findings whose gain is below this share of the step are dropped
};

/// The mean over the complete steps of the rank for which this mean is longest; 0 if there are
/// none.
Nanos mean_step(const predict::StepTimes& steps);

/// Sorted by gain, largest first. `stragglers`: the analysis of the same job, or nullptr if the job
/// has only one rank. Replays the job once per suspect, in parallel; the result does not depend on
/// the number of threads.
std::vector<Finding> find_findings(const predict::Job& job, const sim::StragglerReport* stragglers,
                                   const FindingOptions& options);

}  // namespace weft::diagnose
