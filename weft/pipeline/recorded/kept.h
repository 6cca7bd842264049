// SPDX-License-Identifier: Apache-2.0
// What micro-batches keep from forward to backward, told by recorded allocations.
#pragma once

#include <optional>
#include <vector>

#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// A forward of a layer, and the micro-batch it is of.
struct LayerCall {
  std::uint32_t event = 0;
  std::size_t layer = 0, pass = 0;
};

/// By layer, of all passes together: bytes that were allocated in its forward, and not freed before
/// the last forward of the pass had ended. `calls` in order of start, on one thread. nullopt where
/// no allocations were recorded.
std::optional<std::vector<Bytes>> kept_bytes(const trace::RankTrace& trace,
                                             const std::vector<LayerCall>& calls,
                                             std::size_t layers);

}  // namespace weft::pipeline::recorded
