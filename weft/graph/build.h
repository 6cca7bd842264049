// SPDX-License-Identifier: Apache-2.0
// Builds one graph from the traces of all ranks. The graph holds host threads, launches, streams,
// event waits, host synchronisation, forward-backward links, and collectives joined across ranks.
// Dependencies that the recording does not contain are inferred from how frameworks use streams.
// An inferred edge that the recorded times contradict is dropped and counted as a diagnostic.
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"

namespace weft::graph {

/// The clocks of all ranks of the run must be aligned (see trace::apply). A replay of the result
/// gives the recorded times: the time that no dependency explains is stored in the delays of edges.
/// Op 0 is the beginning of the recording, and every other op depends on it directly or indirectly.
/// `matches` are the collectives and messages that trace::match_calls() found in the run. Fails if
/// the dependencies form a cycle. O(n log n) in events.
Result<Graph> build(const trace::Run& run, const std::vector<trace::Match>& matches,
                    Diagnostics& diagnostics);

}  // namespace weft::graph
