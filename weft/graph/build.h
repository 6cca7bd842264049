// SPDX-License-Identifier: Apache-2.0
// From the traces of all ranks to one graph: host threads, launches, streams, event waits, host
// synchronisation, forward-backward links, and collectives joined across ranks. What the recording
// does not say is inferred from how frameworks use streams; an inferred edge that the recorded
// times contradict is dropped and counted, never bent.
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"

namespace weft::graph {

/// The run must be on one clock (trace::apply of an alignment). Replaying the result gives the
/// recorded times back: delays are what no dependency explains. Op 0 is the beginning of the
/// recording, which everything follows. O(n log n) in events.
Result<Graph> build(const trace::Run& run, const std::vector<trace::Match>& matches,
                    Diagnostics& diagnostics);

}  // namespace weft::graph
