// SPDX-License-Identifier: Apache-2.0
// graph.edges is grouped by destination. This file groups the same edges by source, with a counting
// sort. It also sorts compute by the recorded start of its launch, because callers look for the
// compute that was launched before a gradient became ready. The start of the compute itself would
// not show this: a device op may run long after its launch.
#include "weft/predict/launch_order.h"

#include <algorithm>

namespace weft::predict {

using graph::EdgeId;
using graph::OpId;
using graph::OpKind;

LaunchOrder::LaunchOrder(const graph::Graph& graph)
    : launch_of_(graph.size(), graph::kNoId), first_out_(graph.size() + 1) {
  for (const graph::Edge& edge : graph.edges) ++first_out_[edge.source + 1];
  for (std::size_t i = 1; i < first_out_.size(); ++i) first_out_[i] += first_out_[i - 1];
  out_.resize(graph.edges.size());
  std::vector<std::ptrdiff_t> next(first_out_.begin(), first_out_.end() - 1);
  for (OpId op = 0; op < graph.size(); ++op) {
    for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      const graph::Edge& edge = graph.edges[e];
      out_[static_cast<std::size_t>(next[edge.source]++)] = {op, e};
      if (edge.kind == graph::EdgeKind::kLaunch) launch_of_[op] = edge.source;
    }
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    const OpId launch = launch_of_[op];
    const OpKind kind = graph.ops.kind[op];
    if (launch == graph::kNoId || (kind != OpKind::kKernel && kind != OpKind::kCopy)) continue;
    const auto rank = static_cast<std::size_t>(graph.rank(op));
    if (compute_.size() <= rank) compute_.resize(rank + 1);
    compute_[rank].push_back({graph.ops.recorded_start[launch], op});
  }
  for (auto& list : compute_) {
    std::sort(list.begin(), list.end(), [](const Launched& a, const Launched& b) {
      return std::pair{a.time, a.op} < std::pair{b.time, b.op};
    });
  }
}

OpId LaunchOrder::last_compute(std::int32_t rank, Nanos time) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= compute_.size()) return graph::kNoId;
  const auto& list = compute_[static_cast<std::size_t>(rank)];
  const auto after = std::upper_bound(list.begin(), list.end(), time,
                                      [](Nanos t, const Launched& l) { return t < l.time; });
  return after == list.begin() ? graph::kNoId : std::prev(after)->op;
}

}  // namespace weft::predict
