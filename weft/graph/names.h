// SPDX-License-Identifier: Apache-2.0
// Names that ops made by build() carry where the recording has none, and that later rooms look for.
#pragma once

#include <string_view>

#include "weft/graph/graph.h"

namespace weft::graph {

/// Zero-length host op where a step begins; the last one, outside of all steps, where they end.
constexpr std::string_view kStepMark = "step";
/// A launch that found the device's queue full: the call, and its return once there is room.
constexpr std::string_view kQueueWait = "launch queue full";
/// Host op at which a gradient is ready; its bytes are the gradient's.
constexpr std::string_view kGradientReady = "torch::autograd::AccumulateGrad";

inline bool is_queue_wait(const Graph& graph, OpId op) {
  return (graph.ops.kind[op] == OpKind::kHost || graph.ops.kind[op] == OpKind::kSync) &&
         graph.name(op) == kQueueWait;
}

}  // namespace weft::graph
