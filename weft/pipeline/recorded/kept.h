// SPDX-License-Identifier: Apache-2.0
// Measures from recorded allocations how much memory each layer keeps for a micro-batch from its
// forward to its backward.
#pragma once

#include <optional>
#include <vector>

#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// One forward of a layer. `pass` is the number of its micro-batch.
struct LayerCall {
  std::uint32_t event = 0;
  std::size_t layer = 0, pass = 0;
};

/// Returns one value per layer: the bytes that were allocated during the forward of the layer and
/// were still allocated when the last forward of the same pass ended. The bytes are summed over all
/// passes. `calls` must be sorted by start, and all of them must be on one thread. Returns nullopt
/// if no allocations were recorded.
std::optional<std::vector<Bytes>> kept_bytes(const trace::RankTrace& trace,
                                             const std::vector<LayerCall>& calls,
                                             std::size_t layers);

}  // namespace weft::pipeline::recorded
