// SPDX-License-Identifier: Apache-2.0
// A removal takes something out of a job. It is a list of changes to the graph; everything else
// stays as it was. It is plain data, so any simulator can check the gain of a removal.
#pragma once

#include <utility>
#include <vector>

#include "weft/predict/job.h"

namespace weft::diagnose {

/// Returns the graph to which removals apply. This is the graph of the job. For an op timeline, all
/// its delays are set to 0: they are mostly waits for other ranks, and must shrink when those ranks
/// become faster.
graph::Graph working_graph(const predict::Job& job);

struct Removal {
  std::vector<std::pair<graph::OpId, Nanos>> durations;  ///< op and its new duration
  std::vector<std::pair<graph::EdgeId, Nanos>> delays;   ///< edge and its new delay
  std::vector<graph::EdgeId> edges;                      ///< edges to delete

  bool empty() const { return durations.empty() && delays.empty() && edges.empty(); }
};

/// Returns the graph after the removal. Ids of ops stay the same. Ids of edges change if edges are
/// deleted.
graph::Graph without(const graph::Graph& graph, const Removal& removal);

}  // namespace weft::diagnose
