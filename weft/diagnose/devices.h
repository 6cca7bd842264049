// SPDX-License-Identifier: Apache-2.0
// Finds the ranks that have a device. On a rank without device, the host's threads compute, so no
// work is launched late there.
#pragma once

#include <set>

#include "weft/graph/graph.h"

namespace weft::diagnose {

/// Returns the ranks that have a stream.
inline std::set<std::int32_t> ranks_with_device(const graph::Graph& graph) {
  std::set<std::int32_t> ranks;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.kind == graph::LaneKind::kStream) ranks.insert(lane.rank);
  }
  return ranks;
}

/// Returns the ranks for which the recording shows kernels or copies. A Horovod timeline, for
/// example, shows only collectives. The time between them is compute, so advice about launches
/// would not help.
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
