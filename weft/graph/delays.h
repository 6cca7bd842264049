// SPDX-License-Identifier: Apache-2.0
// From recorded times to delays. Of all the things an op waited for, the one that ended last is why
// it started when it did; the time from then to its start is that edge's delay. The other edges get
// the least delay of their kind that the recording shows. Private to build().
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/graph/graph.h"

namespace weft::graph {

struct TimedEdge {
  OpId source = 0;
  OpId destination = 0;
  EdgeKind kind = EdgeKind::kOrder;
  bool inferred = false;
  Nanos delay = 0;
};

/// Sets the delays of `edges` and removes those the recorded times contradict, counting them. Every
/// op keeps at least one edge: one that loses all follows op 0 instead.
void set_delays(const Graph& ops, std::vector<TimedEdge>& edges, Diagnostics& diagnostics);

}  // namespace weft::graph
