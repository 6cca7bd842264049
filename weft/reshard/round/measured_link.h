// SPDX-License-Identifier: Apache-2.0
// Derives the price of rounds from link tables that `weft calibrate` measured.
#pragma once

#include <vector>

#include "weft/cost/links.h"
#include "weft/reshard/round/price.h"

namespace weft::reshard {

/// Makes a Link from measured tables. The cost of a step is the time of the smallest measured
/// transfer. The bandwidth is the highest measured bandwidth. Uses the table of all-to-alls with
/// the most ranks, because most rounds resemble an all-to-all. If there is none, uses the table of
/// messages between two ranks. Returns an Error (kUsage) if both are missing.
Result<Link> link_of(const std::vector<cost::LinkTable>& tables);

}  // namespace weft::reshard
