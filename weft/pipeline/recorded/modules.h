// SPDX-License-Identifier: Apache-2.0
// Layers of one rank by the modules that it calls.
#pragma once

#include <vector>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

struct ModuleLayers {
  std::vector<Layer> layers;        ///< in the order of the calls
  bool knows_what_is_kept = false;  ///< else `stash` is the output
};

/// No layers where the rank names no modules. Work outside of all modules counts to the layer
/// before it; a backward to the layer whose forward it belongs to.
ModuleLayers module_layers(const trace::RankTrace& trace, const predict::Predictor& predictor);

}  // namespace weft::pipeline::recorded
