// SPDX-License-Identifier: Apache-2.0
// The layers of a profile in one order, with sums over any stretch of it. Stages of plans are
// stretches. Of a graph that is no chain, a cut carries the output of every layer before it that
// has a reader behind it: what skips a stage passes through it.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct LayerChain {
  std::vector<std::int32_t> order;  ///< layers of the profile
  std::vector<std::string> ids;     ///< their ids, for messages
  /// Sums of the first i layers, one more than layers.
  std::vector<Nanos> forward, backward, weight;
  std::vector<Bytes> parameters, stash;
  std::vector<Bytes> cut;  ///< sent on behind the first i layers; 0 at both ends

  std::int32_t size() const { return static_cast<std::int32_t>(order.size()); }
};

/// In the order of linear_order(), or in one that is given and keeps to the edges.
LayerChain layer_chain(const Profile& profile);
LayerChain layer_chain(const Profile& profile, std::vector<std::int32_t> order);

}  // namespace weft::pipeline
