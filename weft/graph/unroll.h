// SPDX-License-Identifier: Apache-2.0
// Repeats recorded steps. A recording shows a few steps, and its two ends are cut: the host runs
// ahead of the device, so the first kernels belong to steps before the window. To find out what a
// step costs in a job that runs for hours, unroll() lays the recorded steps end to end many times.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/graph/graph.h"

namespace weft::graph {

/// The graph of a job that runs the recorded steps `sequence[0]`, `sequence[1]` ... back to back. A
/// step may appear many times. The step of an op in the result is its position in the sequence. Ops
/// that belong to none of the steps are left out. Waits for a full launch queue lose their edge
/// from the device, because they only show that the host was far ahead. Between two instances,
/// lanes continue in order, and the dependencies across the boundary are those between two recorded
/// neighbouring steps. `origin`, if given, receives for each op of the result the op that it was
/// copied from. Fails if a step is not in the graph. O(n) per instance in the ops of `graph`, plus
/// the cost of GraphBuilder::finish().
Result<Graph> unroll(const Graph& graph, const std::vector<std::int64_t>& sequence,
                     std::vector<OpId>* origin = nullptr);

}  // namespace weft::graph
