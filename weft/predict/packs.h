// SPDX-License-Identifier: Apache-2.0
// All-reduces of a step joined into fewer and larger ones.
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// By the rule of TensorFlow's bytes_per_pack: in program order, a pack takes all-reduces until it
/// holds more than `cap` bytes. A pack moves once all of its members have come, and what waited for
/// one of them waits for the pack. An Error (kUsage) where sizes are unknown; where there is
/// nothing to join, as a recording does not tell how to divide what was sent as one; and without a
/// table of transfer times, as it does not tell what larger ones take.
Result<graph::Graph> join_packs(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

}  // namespace weft::predict
