// SPDX-License-Identifier: Apache-2.0
// A removal takes something out of a job: an edit of the graph that leaves everything else as it
// was. It is plain data, so any simulator can check the gain of a removal.
#pragma once

#include <utility>
#include <vector>

#include "weft/predict/job.h"

namespace weft::diagnose {

/// The graph that removals apply to. This is the graph of the job; for an op timeline without its
/// delays, because these are mostly waits for other ranks and must shrink when those get faster.
graph::Graph working_graph(const predict::Job& job);

struct Removal {
  std::vector<std::pair<graph::OpId, Nanos>> durations;  ///< op and its new duration
  std::vector<std::pair<graph::EdgeId, Nanos>> delays;   ///< edge and its new delay
  std::vector<graph::EdgeId> edges;                      ///< edges to delete

  bool empty() const { return durations.empty() && delays.empty() && edges.empty(); }
};

/// The graph after the removal. Ids of ops stay the same; ids of edges change if edges are deleted.
graph::Graph without(const graph::Graph& graph, const Removal& removal);

}  // namespace weft::diagnose
