// SPDX-License-Identifier: Apache-2.0
// Computes the amounts on which the price of a round depends. All amounts are counted at the
// receivers. A search computes them thousands of times.
#pragma once

#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

struct Traffic {
  std::int64_t recv_max = 0;    ///< elements received by the device that receives most
  std::int64_t recv_total = 0;  ///< elements received by all devices together
  std::int64_t peers_max = 0;   ///< the largest number of senders that any device receives from
  /// Elements that enter a node from other nodes, for the node that gets most; 0 if nodes do not
  /// matter.
  std::int64_t node_recv_max = 0;
};

/// The traffic of exchange(from, to). If `received` is not null, it is set to the number of
/// elements that each device receives.
///
/// If `from` is a grid and both layouts have one part per device, the transfers are not listed.
/// Then the time is linear in devices and dimensions. If nodes matter and are not grids, it is also
/// linear in the size of a node. In all other cases the transfers are listed and counted.
Traffic traffic(const Layout& from, const Layout& to, OverlapCache& overlaps,
                std::vector<std::int64_t>* received = nullptr);

}  // namespace weft::reshard
