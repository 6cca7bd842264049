// SPDX-License-Identifier: Apache-2.0
// Applies the what-if allreduce.pack_mb: joins the all-reduces of a step into fewer and larger
// all-reduces.
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/edit.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Returns the edit that joins all-reduces by the rule of TensorFlow's bytes_per_pack. All-reduces
/// are taken in program order. They go into one pack until the pack holds more than `cap` bytes. A
/// pack starts to move when its last member would have started. Ops that waited for a member wait
/// for the pack. An Error (kUsage) in three cases: sizes are unknown; no step has two all-reduces
/// (a recording does not show how to divide one); or there is no link table (the recorded transfers
/// do not show how long larger transfers take).
Result<graph::Edit> join_packs(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

}  // namespace weft::predict
