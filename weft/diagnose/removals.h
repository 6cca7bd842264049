// SPDX-License-Identifier: Apache-2.0
// Taking a thing out of a job: an edit of the graph that leaves everything else as it was. Plain
// data, so that any simulator can check what a removal gives.
#pragma once

#include <utility>
#include <vector>

#include "weft/predict/job.h"

namespace weft::diagnose {

/// The graph that things are taken out of: the job's own. The pauses of an op timeline count as
/// nothing, as they are mostly waits for others and must shrink when those get faster.
graph::Graph working_graph(const predict::Job& job);

struct Removal {
  std::vector<std::pair<graph::OpId, Nanos>> durations;  ///< op -> its duration without the thing
  std::vector<std::pair<graph::EdgeId, Nanos>> delays;   ///< edge -> likewise
  std::vector<graph::EdgeId> edges;                      ///< dependencies that go away

  bool empty() const { return durations.empty() && delays.empty() && edges.empty(); }
};

/// The graph without the thing. Ids of ops stay; those of edges do not where edges go.
graph::Graph without(const graph::Graph& graph, const Removal& removal);

}  // namespace weft::diagnose
