// SPDX-License-Identifier: Apache-2.0
// What comes into nodes from others. Devices of a node take from each other whatever any of them
// holds, so only the rest has to come from elsewhere.
#pragma once

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"

namespace weft::reshard {

/// Elements that come into the node that gets most of them from others in exchange(from, to), of
/// layouts with one part a device, `from` being a grid. Where its nodes are grids as well, linear
/// in devices and dimensions; else in the size of nodes, too.
std::int64_t node_inflow_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// What the devices of a node want and none of them has, of the node that lacks most: it must come
/// from others, whatever the plan. Of summands, what the node does not have all groups of. 0 where
/// that is not known.
std::int64_t node_deficit_max(const Layout& from, const Layout& to, OverlapCache& overlaps);

}  // namespace weft::reshard
