// SPDX-License-Identifier: Apache-2.0
// Checks whether two boxes in one buffer have bytes in common.
#pragma once

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

/// The result is exact for boxes whose strides divide each other. For other boxes the function
/// returns true if it cannot decide.
bool targets_may_overlap(const Copy& a, const Copy& b);

}  // namespace weft::reshard::execute::cuda
