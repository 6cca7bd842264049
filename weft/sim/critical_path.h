// SPDX-License-Identifier: Apache-2.0
// The chain of ops that decides when the replay ends, across lanes and ranks. Each op on it started
// at the very instant at which the op before it allowed it to. The durations and delays on the
// chain add up to the end of its last op.
#pragma once

#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

struct PathStep {
  graph::OpId op = 0;
  graph::EdgeId edge = graph::kNoId;  ///< the in-edge that the op waited for; kNoId for the first
};

/// From the first op to `last` (default: the op with the latest end; of several, the lowest id). If
/// several in-edges allowed an op to start at the same instant, the one with the lowest source
/// counts. Empty for an empty graph. Linear in the in-edges of the ops on the path, except that
/// finding the default for `last` is linear in all ops.
std::vector<PathStep> critical_path(const Replay& replay, graph::OpId last = graph::kNoId);

}  // namespace weft::sim
