// SPDX-License-Identifier: Apache-2.0
// A LayerChain has the layers of a profile in one linear order, with prefix sums, so that the costs
// of any consecutive layers take constant time. Each stage of a plan is a range of this order. If
// the layer graph is not a chain, a cut sends the output of a layer before the cut if some layer
// behind the cut reads this output. So an output that a later stage reads is also sent through all
// stages between.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct LayerChain {
  std::vector<std::int32_t> order;  ///< the layers as indices into Profile::layers
  std::vector<std::string> ids;     ///< ids of the layers in this order, for messages
  /// Prefix sums: entry i covers the first i layers, so there are size() + 1 entries.
  std::vector<Nanos> forward, backward, weight;
  std::vector<Bytes> parameters, stash;
  std::vector<Bytes> cut;  ///< bytes that a cut behind the first i layers sends; 0 at both ends

  std::int32_t size() const { return static_cast<std::int32_t>(order.size()); }
};

/// The first function uses the order of linear_order(). The second uses the given order, which must
/// respect the edges.
LayerChain layer_chain(const Profile& profile);
LayerChain layer_chain(const Profile& profile, std::vector<std::int32_t> order);

}  // namespace weft::pipeline
