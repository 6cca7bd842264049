// SPDX-License-Identifier: Apache-2.0
// Finds the critical path of a replay. This is the chain of ops that decides when the replay ends.
// The chain may pass through all lanes and ranks. Each op of the chain started as soon as the op
// before it in the chain allowed this. The durations and delays of the chain add up to the end of
// its last op.
#pragma once

#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

struct PathStep {
  graph::OpId op = 0;
  /// The in-edge that the op waited for; kNoId for the first op.
  graph::EdgeId edge = graph::kNoId;
};

/// Returns the chain from its first op to `last`. By default, `last` is the op with the latest end.
/// If several ops end last, it is the op with the lowest id. If several in-edges allowed an op to
/// start at the same instant, the path takes the edge with the lowest source. An empty graph has an
/// empty path. Linear in the in-edges of the ops on the path. Finding the default for `last` is
/// linear in all ops.
std::vector<PathStep> critical_path(const Replay& replay, graph::OpId last = graph::kNoId);

}  // namespace weft::sim
