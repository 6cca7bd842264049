// SPDX-License-Identifier: Apache-2.0
// What-ifs that change which ops there are, as passes from graph to graph. They run on the recorded
// steps, before these are unrolled.
#pragma once

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Gradients of data-parallel training exchanged in buckets of another size. By the rule of
/// PyTorch's DistributedDataParallel: gradients fill buckets in the order in which they become
/// ready, a bucket is closed once it holds at least `cap` bytes, and its all-reduce is launched at
/// once, behind the compute issued so far. What waited for the last of the old all-reduces waits
/// for the last new one. An Error (kUsage) where the recording does not show gradients and their
/// all-reduces, or their sizes, or where no transfer time is known.
Result<graph::Graph> rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links);

/// No communication: members go on at once, and the host calls that launched it take no time.
Result<graph::Graph> without_communication(const graph::Graph& graph);

}  // namespace weft::predict
