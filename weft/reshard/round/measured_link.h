// SPDX-License-Identifier: Apache-2.0
// Derives the price of rounds from link tables that `weft calibrate` measured.
#pragma once

#include <vector>

#include "weft/cost/links.h"
#include "weft/reshard/round/price.h"

namespace weft::reshard {

/// The cost of a step is the time of the smallest measured transfer; the bandwidth is the highest
/// that was measured. Uses the all-to-all with most ranks, since most rounds are like one. Without
/// any, uses messages between two ranks. An Error (kUsage) if the tables have neither.
Result<Link> link_of(const std::vector<cost::LinkTable>& tables);

}  // namespace weft::reshard
