// SPDX-License-Identifier: Apache-2.0
// What a round costs, as far as the receiving side tells. A search asks thousands of times.
#pragma once

#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

struct Traffic {
  std::int64_t recv_max = 0;    ///< elements received by the device that receives most
  std::int64_t recv_total = 0;  ///< by all
  std::int64_t peers_max = 0;   ///< devices that the one with most of them receives from
  /// Elements that come into the node that gets most of them from others; 0 where nodes are not
  /// told apart.
  std::int64_t node_recv_max = 0;
};

/// What exchange(from, to) will be. Where `from` is a grid and both have one part a device, without
/// making it: linear in devices and dimensions, and in the size of a node where there are nodes.
/// `received`: what each device receives, for those who ask.
Traffic traffic(const Layout& from, const Layout& to, OverlapCache& overlaps,
                std::vector<std::int64_t>* received = nullptr);

}  // namespace weft::reshard
