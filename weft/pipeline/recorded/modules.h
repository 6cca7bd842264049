// SPDX-License-Identifier: Apache-2.0
// Finds the layers of one rank, and their costs, by the modules that it calls.
#pragma once

#include <vector>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

struct ModuleLayers {
  std::vector<Layer> layers;        ///< in the order of the calls
  bool knows_what_is_kept = false;  ///< if not, `stash` is taken to be the output of the layer
};

/// Returns no layers if the recording has no modules. Work outside of all modules counts to the
/// layer before it; backward work counts to the layer whose forward caused it.
ModuleLayers module_layers(const trace::RankTrace& trace, const predict::Predictor& predictor);

}  // namespace weft::pipeline::recorded
