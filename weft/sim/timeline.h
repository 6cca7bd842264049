// SPDX-License-Identifier: Apache-2.0
// Turns a replay into a sorted list of spans, for code that draws or summarises the replay.
#pragma once

#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

/// One op on the timeline.
struct Span {
  graph::OpId op = 0;
  graph::LaneId lane = 0;
  Nanos start = 0;
  Nanos end = 0;
};

/// Returns all spans, sorted by lane, then start, then op.
std::vector<Span> timeline(const Replay& replay);

}  // namespace weft::sim
