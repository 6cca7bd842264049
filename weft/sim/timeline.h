// SPDX-License-Identifier: Apache-2.0
// A replay as a sorted list of spans, for code that draws or summarises it.
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

/// All spans, ordered by lane, then start, then op.
std::vector<Span> timeline(const Replay& replay);

}  // namespace weft::sim
