// SPDX-License-Identifier: Apache-2.0
// Derives the delays of edges from the recorded times. Of all edges into an op, the one that
// allowed it to start last explains why the op started when it did. Its delay is the time from its
// source's end to the op's start. The other edges get the usual (median) delay of their kind, but
// never more than the recorded times allow. Private to build().
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

/// Sets the delays of `edges`. Removes the edges that the recorded times contradict (the source
/// ended after the destination started) and counts them in `diagnostics`. An op that loses all its
/// edges gets an edge from op 0. Linear in ops and edges, apart from medians.
void set_delays(const Graph& ops, std::vector<TimedEdge>& edges, Diagnostics& diagnostics);

}  // namespace weft::graph
