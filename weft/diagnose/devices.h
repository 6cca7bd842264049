// SPDX-License-Identifier: Apache-2.0
// Ranks with and without device. Without, the host's threads compute, and no launch can be late.
#pragma once

#include <set>

#include "weft/graph/graph.h"

namespace weft::diagnose {

/// Ranks that have a stream.
inline std::set<std::int32_t> ranks_with_device(const graph::Graph& graph) {
  std::set<std::int32_t> ranks;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.kind == graph::LaneKind::kStream) ranks.insert(lane.rank);
  }
  return ranks;
}

/// Ranks of which the recording shows kernels or copies. A Horovod timeline shows collectives only:
/// what lies between them is the compute, and no advice on launches can shorten it.
inline std::set<std::int32_t> ranks_with_device_work(const graph::Graph& graph) {
  std::set<std::int32_t> ranks;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const graph::OpKind kind = graph.ops.kind[op];
    if (kind == graph::OpKind::kKernel || kind == graph::OpKind::kCopy) {
      ranks.insert(graph.rank(op));
    }
  }
  return ranks;
}

}  // namespace weft::diagnose
