// SPDX-License-Identifier: Apache-2.0
// Computes the traffic between nodes. If a device of the receiver's node holds a piece, the
// receiver takes the piece from this device. So only elements that no device of the node holds come
// from other nodes.
#pragma once

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"

namespace weft::reshard {

/// Counts the elements that enter each node from other nodes in exchange(from, to), and returns the
/// largest count. Both layouts must have one part per device, and `from` must be a grid. If the
/// nodes are grids as well (see Layout::node_grid), the time is linear in devices and dimensions.
/// Otherwise each device is compared with every device of its node.
std::int64_t node_inflow_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// A lower bound for every plan. Counts, for each node, the elements that its devices want in `to`
/// and that none of them holds in `from`. Returns the largest count. Each distinct element counts
/// once per node. If `from` is partial, an element counts unless the node has all groups of its
/// summands. Returns 0 if no bound is known.
std::int64_t node_deficit_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

}  // namespace weft::reshard
