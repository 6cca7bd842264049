// SPDX-License-Identifier: Apache-2.0
// Turns the spans of an MXNet profile into a RankTrace.
#pragma once

#include "weft/trace/events.h"
#include "weft/trace/formats/mxnet/spans.h"

namespace weft::trace::mxnet {

/// Operators that the engine ran become kernels and copies on stream lanes. Each worker thread of
/// the engine gets one lane, and further lanes if its work overlaps: a KVStore operator returns
/// before its answer arrives. The profile does not say which host call pushed an operator, so the
/// last call before the operator that can push work is taken as its launch. Tasks and frames with
/// names such as "step 3", "iter 3" or "batch 3" mark steps.
RankTrace make_rank(const SpanCollector& collector);

}  // namespace weft::trace::mxnet
