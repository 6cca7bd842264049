// SPDX-License-Identifier: Apache-2.0
// Applies the what-ifs that add and remove ops. Each function here turns one graph into another. It
// changes the recorded steps. Afterwards, the changed steps are repeated (graph/unroll.h).
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Changes the size of the buckets in which data-parallel training all-reduces its gradients. It
/// follows the rule of PyTorch's DistributedDataParallel. Gradients fill buckets in the order in
/// which they become ready. A bucket is closed when it holds at least `cap` bytes. Its all-reduce
/// is then launched at once, behind the compute that was issued before. Some ops waited for a
/// recorded all-reduce after the last gradient was ready. These ops wait for the last new
/// all-reduce instead. An Error (kUsage) if the recording lacks gradients, their all-reduces or
/// their sizes, or if no transfer time is known.
Result<graph::Graph> rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

/// Returns the graph of the job without communication. No rank waits for a collective or message.
/// The host calls that launch collectives and messages take no time.
Result<graph::Graph> without_communication(const graph::Graph& graph);

}  // namespace weft::predict
