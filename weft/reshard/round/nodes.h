// SPDX-License-Identifier: Apache-2.0
// The traffic between nodes. Devices take pieces from devices of their own node where they can, so
// only elements that no device of the node holds come from other nodes.
#pragma once

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"

namespace weft::reshard {

/// The elements that enter a node from other nodes in exchange(from, to), for the node that gets
/// most. Both layouts must have one part per device, and `from` must be a grid. Linear in devices
/// and dimensions if the nodes are grids as well (see Layout::node_grid); otherwise each device is
/// compared with every device of its node.
std::int64_t node_inflow_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// A lower bound for every plan: the elements that devices of a node want in `to` and that none of
/// them holds in `from`, for the node that lacks most. Each distinct element counts once per node.
/// If `from` is partial, an element counts unless the node has all groups of its summands. Returns
/// 0 if no bound is known.
std::int64_t node_deficit_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

}  // namespace weft::reshard
