// SPDX-License-Identifier: Apache-2.0
// The chain of ops that decides when the replay ends, across lanes and ranks: each op on it started
// exactly when the one before allowed it. Its durations and delays add up to the end of its last
// op.
#pragma once

#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

struct PathStep {
  graph::OpId op = 0;
  graph::EdgeId edge = graph::kNoId;  ///< what the op waited for; kNoId for the first
};

/// From the first op to `last` (default: the op with the latest end; of several, the lowest id).
/// Where several in-edges allowed an op at the same instant, the lowest source counts. Empty for an
/// empty graph. Costs the in-edges of the ops on the path.
std::vector<PathStep> critical_path(const Replay& replay, graph::OpId last = graph::kNoId);

}  // namespace weft::sim
