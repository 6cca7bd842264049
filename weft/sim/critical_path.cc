// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/critical_path.h"

#include <algorithm>

#include "weft/base/check.h"

namespace weft::sim {
namespace {

using graph::EdgeId;
using graph::kNoId;
using graph::OpId;

/// Returns the in-edge that decided when `op` started. If there are several, returns the one with
/// the lowest source. Returns kNoId if the op started at 0 without waiting.
EdgeId deciding_edge(const Replay& replay, OpId op) {
  const graph::Graph& graph = replay.graph();
  EdgeId found = kNoId;
  for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    const OpId source = graph.edges[e].source;
    if (replay.end(source) + replay.delay(e) != replay.start(op)) continue;
    if (found == kNoId || source < graph.edges[found].source) found = e;
  }
  return found;
}

}  // namespace

std::vector<PathStep> critical_path(const Replay& replay, OpId last) {
  std::vector<PathStep> path;
  const auto ends = replay.ends();
  if (ends.empty()) return path;
  if (last == kNoId) {
    last = static_cast<OpId>(std::max_element(ends.begin(), ends.end()) - ends.begin());
  }
  WEFT_CHECK(last < ends.size());
  for (OpId op = last;;) {
    const EdgeId edge = deciding_edge(replay, op);
    path.push_back({op, edge});
    if (edge == kNoId) break;
    op = replay.graph().edges[edge].source;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace weft::sim
