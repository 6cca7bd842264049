// SPDX-License-Identifier: Apache-2.0
// Repeats recorded steps. A recording shows only a few steps and cuts the job at both ends. The
// host runs ahead of the device, so the first recorded kernels belong to steps before the
// recording. unroll() repeats the recorded steps many times, one after the other, to find out how
// long a step takes in a job that runs for hours.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/graph/graph.h"

namespace weft::graph {

/// The graph of a sequence of steps, and where its parts come from.
struct Unrolled {
  Graph graph;
  std::vector<OpId> op_origin;  ///< for each op: the op of the recording that it copies
  /// For each edge: the edge of the recording from which it has its delay. kNoId if there is none:
  /// the delay is 0, whatever was recorded.
  std::vector<EdgeId> edge_origin;
};

/// Returns the graph of a job that runs the recorded steps `sequence[0]`, `sequence[1]` ... one
/// after the other. A step may occur many times in the sequence; each occurrence is an instance.
/// The step of an op in the result is its position in the sequence. Ops that belong to none of the
/// steps are left out. Waits for a full launch queue lose their edge from the device, because they
/// only show that the host was far ahead. From one instance to the next, the ops of a lane keep
/// their order. The other dependencies between two instances are copied from two neighbouring steps
/// of the recording. Fails if a step is not in the graph. The cost per instance is linear in the
/// ops of `graph`. GraphBuilder::finish() adds its own cost.
Result<Unrolled> unroll(const Graph& graph, const std::vector<std::int64_t>& sequence);

}  // namespace weft::graph
