// SPDX-License-Identifier: Apache-2.0
// What costs the step how much. A finding is something that could be taken away; what that would
// give is found by taking it out of the graph and replaying, never by adding up its time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/diagnose/path.h"
#include "weft/diagnose/removals.h"
#include "weft/diagnose/skew.h"
#include "weft/sim/stragglers.h"

namespace weft::diagnose {

constexpr std::size_t kFindingOps = 20;

struct Finding {
  std::string kind;                 ///< "straggler", "exposed_communication" ... (finding_kinds())
  std::string title;                ///< what would be gone: "rank 2's delay", "memory copies"
  std::string what;                 ///< one sentence with its numbers, without the gain
  std::int32_t rank = -1;           ///< where it costs most; -1: no rank in particular
  std::int64_t step = -1;           ///< step in which it costs most; -1: none
  std::string lane;                 ///< "stream 7", "thread 12"; empty: none
  std::vector<std::int32_t> ranks;  ///< all ranks it concerns
  Nanos gain = 0;                   ///< off the mean step of the slowest rank, by replay
  Nanos time = 0;                   ///< how long it takes on `rank`, mean a step, exposed or not
  std::int64_t count = 0;           ///< ops it is made of, all ranks and complete steps
  /// Those it takes most time from, with that time; largest first, no more than kFindingOps.
  std::vector<std::pair<graph::OpId, Nanos>> ops;
  std::string advice;   ///< what to do
  std::string what_if;  ///< the question of `weft replay` that is nearest to it; may be empty
  Removal removal;
};

struct FindingKind {
  const char* kind;
  const char* description;  ///< one line, for `weft list findings`
};
const std::vector<FindingKind>& finding_kinds();

struct FindingOptions {
  double least_share = 0.005;  ///< what gives less than this share of the step is left out
};

/// Mean of the complete steps, of the rank for which it is longest.
Nanos mean_step(const predict::StepTimes& steps);

/// Sorted by gain, largest first. `stragglers`: of the same job, where it has several ranks.
std::vector<Finding> find_findings(const predict::Job& job, const sim::StragglerReport* stragglers,
                                   const FindingOptions& options);

}  // namespace weft::diagnose
