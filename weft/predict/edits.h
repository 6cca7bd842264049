// SPDX-License-Identifier: Apache-2.0
// What-ifs that add and remove ops, as passes from graph to graph. They run on the recorded steps,
// before the steps are repeated (graph/unroll.h).
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Data-parallel training whose gradients are all-reduced in buckets of another size. Follows the
/// rule of PyTorch's DistributedDataParallel: gradients fill buckets in the order in which they
/// become ready, a bucket is closed once it holds at least `cap` bytes, and its all-reduce is
/// launched at once, behind the compute issued so far. Ops that waited for an old all-reduce after
/// the last gradient was ready wait for the last new one. An Error (kUsage) if the recording lacks
/// gradients, their all-reduces or their sizes, or if no transfer time is known.
Result<graph::Graph> rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

/// The job without communication: no rank waits for a collective or message, and the host calls
/// that launched them take no time.
Result<graph::Graph> without_communication(const graph::Graph& graph);

}  // namespace weft::predict
