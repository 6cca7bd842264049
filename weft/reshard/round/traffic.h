// SPDX-License-Identifier: Apache-2.0
// The amounts that the price of a round depends on, all of them on the receiving side. A search
// asks for them thousands of times.
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

/// The traffic of exchange(from, to). If `from` is a grid and both layouts have one part per
/// device, the transfers are not listed: the cost is linear in devices and dimensions, and, if
/// nodes matter and are not grids, in the size of a node. Otherwise the transfers are listed and
/// counted. If `received` is not null, it is set to the elements that each device receives.
Traffic traffic(const Layout& from, const Layout& to, OverlapCache& overlaps,
                std::vector<std::int64_t>* received = nullptr);

}  // namespace weft::reshard
