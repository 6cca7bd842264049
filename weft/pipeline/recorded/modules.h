// SPDX-License-Identifier: Apache-2.0
// Finds the layers of one rank by the modules that the rank calls, and measures the costs of these
// layers.
#pragma once

#include <vector>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

struct ModuleLayers {
  std::vector<Layer> layers;  ///< in the order of the calls
  /// Whether `stash` was measured. If not, it is the size of the layer's output.
  bool knows_what_is_kept = false;
};

/// Returns no layers if the recording has no modules. Work outside of all modules belongs to the
/// layer before it. Backward work belongs to the layer whose forward caused it.
ModuleLayers module_layers(const trace::RankTrace& trace, const predict::Predictor& predictor);

}  // namespace weft::pipeline::recorded
