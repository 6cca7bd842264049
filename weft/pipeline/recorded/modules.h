// SPDX-License-Identifier: Apache-2.0
// Layers of one rank by the modules that it calls.
#pragma once

#include <vector>

#include "weft/pipeline/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// In the order of the calls; empty where the rank names no modules. Work outside of all modules
/// counts to the layer before it; a backward to the layer whose forward it belongs to.
std::vector<Layer> module_layers(const trace::RankTrace& trace,
                                 const predict::Predictor& predictor);

}  // namespace weft::pipeline::recorded
