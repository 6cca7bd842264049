// SPDX-License-Identifier: Apache-2.0
// Whether two boxes in one buffer share bytes.
#pragma once

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

/// True where it cannot tell: of boxes whose strides do not nest.
bool targets_may_overlap(const Copy& a, const Copy& b);

}  // namespace weft::reshard::execute::cuda
