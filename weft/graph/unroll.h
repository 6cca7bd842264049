// SPDX-License-Identifier: Apache-2.0
// A recording shows a few steps, and their beginning and end are cut: the host runs ahead of the
// device, so the first kernels belong to steps before the window. To ask what a step costs when one
// follows another for hours, the recorded steps are laid end to end again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/graph/graph.h"

namespace weft::graph {

/// The job that runs the recorded steps `sequence[0]`, `sequence[1]` ... back to back; a step may
/// appear many times. Ops of the result carry the position in the sequence as their step. Ops that
/// belong to none of the steps are left out, and so are waits for a full launch queue, which only
/// say that the host was far ahead. Between two instances lanes go on in order, and dependencies
/// across the boundary are those of two recorded neighbours.
/// `origin`, if given, receives for each op of the result the op it was copied from.
Result<Graph> unroll(const Graph& graph, const std::vector<std::int64_t>& sequence,
                     std::vector<OpId>* origin = nullptr);

}  // namespace weft::graph
