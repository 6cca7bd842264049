// SPDX-License-Identifier: Apache-2.0
// Even stages, as people cut models that they do not plan. Both give the layer before which each
// stage ends.
#pragma once

#include <vector>

#include "weft/pipeline/model/layer_chain.h"

namespace weft::pipeline {

/// A stage for each speed, of the device that runs it; not more of them than layers. As even as
/// layers allow: no slowest stage is quicker, and among those the squares of all times are least.
std::vector<std::int32_t> even_cut(const LayerChain& chain, const std::vector<double>& speeds);

/// Each stage ends where its share of all work is reached.
std::vector<std::int32_t> shared_out(const LayerChain& chain, std::int32_t stages);

}  // namespace weft::pipeline
