// SPDX-License-Identifier: Apache-2.0
// Cuts layers into even stages, as users do without a planner. Both functions return the end of
// each stage: stage s has the layers from the end of stage s - 1 up to, but not including, ends[s].
#pragma once

#include <vector>

#include "weft/pipeline/model/layer_chain.h"

namespace weft::pipeline {

/// The most even cut into one stage per entry of `speeds`, the speed of the device that runs the
/// stage. Minimizes the time of the slowest stage and then the sum of the squares of all times.
/// There must be at least as many layers as stages. Time: stages * layers^2 at worst.
std::vector<std::int32_t> even_cut(const LayerChain& chain, const std::vector<double>& speeds);

/// Cuts at equal shares of the total work: stage s ends at the first layer where the work so far
/// reaches (s + 1) / stages of the total.
std::vector<std::int32_t> proportional_cut(const LayerChain& chain, std::int32_t stages);

}  // namespace weft::pipeline
