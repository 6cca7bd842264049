// SPDX-License-Identifier: Apache-2.0
// Removes communication from a job.
#pragma once

#include "weft/graph/edit.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Returns the edit that removes all communication. No rank waits for a collective or message. The
/// host calls that launch collectives and messages take no time.
graph::Edit without_communication(const graph::Graph& graph);

}  // namespace weft::predict
