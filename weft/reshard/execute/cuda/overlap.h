// SPDX-License-Identifier: Apache-2.0
// Whether two boxes in one buffer have bytes in common.
#pragma once

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

/// Exact for boxes whose strides divide each other. True if it cannot tell.
bool targets_may_overlap(const Copy& a, const Copy& b);

}  // namespace weft::reshard::execute::cuda
