// SPDX-License-Identifier: Apache-2.0
// Measures from recorded allocations how much memory each layer keeps for a micro-batch from its
// forward to its backward.
#pragma once

#include <optional>
#include <vector>

#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// One forward of a layer. `pass` counts the micro-batches.
struct LayerCall {
  std::uint32_t event = 0;
  std::size_t layer = 0, pass = 0;
};

/// Per layer, summed over all passes: the bytes that were allocated during its forward and not
/// freed before the last forward of the pass had ended. `calls` must be sorted by start and be on
/// one thread. nullopt if no allocations were recorded.
std::optional<std::vector<Bytes>> kept_bytes(const trace::RankTrace& trace,
                                             const std::vector<LayerCall>& calls,
                                             std::size_t layers);

}  // namespace weft::pipeline::recorded
