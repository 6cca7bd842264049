// SPDX-License-Identifier: Apache-2.0
// What costs the step how much. A finding is something that could be taken away; what that would
// give is found by taking it out of the graph and replaying, never by adding up its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/diagnose/path.h"
#include "weft/diagnose/removals.h"
#include "weft/diagnose/skew.h"

namespace weft::diagnose {

struct Finding {
  std::string kind;        ///< "straggler", "exposed_communication" ... (finding_kinds())
  std::string what;        ///< one sentence with its numbers, without the gain
  std::int32_t rank = -1;  ///< where it costs most; -1: no rank in particular
  std::int64_t step = -1;  ///< step in which it costs most; -1: none
  std::string lane;        ///< "stream 7", "thread 12"; empty: none
  std::vector<std::int32_t> ranks;  ///< all ranks it concerns
  Nanos gain = 0;                   ///< off the mean step of the slowest rank, by replay
  Nanos time = 0;                   ///< how long it takes on `rank`, mean a step, exposed or not
  std::int64_t count = 0;           ///< ops it is made of, all ranks and steps
  std::string advice;               ///< what to do
  std::string what_if;  ///< the question of `weft replay` that is nearest to it; may be empty
  Removal removal;
};

struct FindingKind {
  const char* kind;
  const char* description;  ///< one line, for `weft list findings`
};
const std::vector<FindingKind>& finding_kinds();

struct FindingOptions {
  Nanos least_gain = 0;        ///< smaller ones are left out ...
  double least_share = 0.005;  ///< ... also those below this share of the step
  std::size_t most = 50;
};

/// Sorted by gain, largest first.
std::vector<Finding> find_findings(const predict::Job& job, const FindingOptions& options);

}  // namespace weft::diagnose
