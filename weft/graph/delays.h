// SPDX-License-Identifier: Apache-2.0
// Derives the delays of edges from the recorded times. An op may have several in-edges. The one
// that allowed the op to start last explains why the op started when it did. The delay of this edge
// is the time from the end of its source to the start of the op. The other edges get the usual
// (median) delay of their kind, but never more than the recorded times allow. Private to build().
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

/// Sets the delays of `edges`. An edge contradicts the recorded times if its source ended after its
/// destination started. Such edges are removed and counted in `diagnostics`. An op that loses all
/// its edges gets an edge from op 0. Linear in ops and edges, except for the medians.
void set_delays(const Graph& ops, std::vector<TimedEdge>& edges, Diagnostics& diagnostics);

}  // namespace weft::graph
