// SPDX-License-Identifier: Apache-2.0
// What the records of an MXNet profile mean, as a RankTrace.
#pragma once

#include "weft/trace/events.h"
#include "weft/trace/formats/mxnet/spans.h"

namespace weft::trace::mxnet {

/// Engine operators become kernels and copies on stream lanes: one a worker thread, and more where
/// its work overlaps (a KVStore operator returns before its answer comes). The profile does not say
/// which call pushed an operator; the last call before it that pushes any is taken. Tasks and
/// frames called "step 3", "iter 3", "batch 3" mark steps.
RankTrace make_rank(const SpanCollector& collector);

}  // namespace weft::trace::mxnet
