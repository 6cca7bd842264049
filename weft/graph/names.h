// SPDX-License-Identifier: Apache-2.0
// Defines the names of special ops. build() adds some of these ops itself. Later rooms search for
// ops by these names.
#pragma once

#include <string_view>

#include "weft/graph/graph.h"

namespace weft::graph {

/// A host op of length zero at the beginning of each step. One more such op, which belongs to no
/// step, marks the end of the last step.
constexpr std::string_view kStepMark = "step";
/// A launch that found the launch queue of the device full. Two ops carry this name: the call, and
/// its return once the queue has room.
constexpr std::string_view kQueueWait = "launch queue full";
/// Host op at which a gradient is ready. Its bytes are the size of the gradient. PyTorch's autograd
/// engine records it under this name.
constexpr std::string_view kGradientReady = "torch::autograd::AccumulateGrad";

inline bool is_queue_wait(const Graph& graph, OpId op) {
  return (graph.ops.kind[op] == OpKind::kHost || graph.ops.kind[op] == OpKind::kSync) &&
         graph.name(op) == kQueueWait;
}

}  // namespace weft::graph
