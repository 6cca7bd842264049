// SPDX-License-Identifier: Apache-2.0
// The what-if allreduce.pack_mb: joins the all-reduces of a step into fewer and larger ones.
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Follows the rule of TensorFlow's bytes_per_pack: in program order, a pack takes all-reduces
/// until it holds more than `cap` bytes. A pack starts to move when its last member would have
/// started, and ops that waited for a member wait for the pack. An Error (kUsage) if sizes are
/// unknown, if no step has two all-reduces (a recording does not reveal how to split one), or if
/// there is no link table (the recorded transfers do not reveal how long larger ones take).
Result<graph::Graph> join_packs(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

}  // namespace weft::predict
