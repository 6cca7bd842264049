// SPDX-License-Identifier: Apache-2.0
// Which ranks have a device. On a rank without device the host's threads compute, so nothing is
// launched late there.
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

/// Ranks for which the recording shows kernels or copies. A Horovod timeline shows only
/// collectives: the time between them is compute, and advice about launches cannot shorten it.
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
