// SPDX-License-Identifier: Apache-2.0
// Prices from what `weft calibrate` measured.
#pragma once

#include <vector>

#include "weft/cost/links.h"
#include "weft/reshard/round/price.h"

namespace weft::reshard {

/// A step costs what the smallest transfer does, a device receives at the highest bandwidth seen.
/// From the all-to-all of most ranks where there is one, since most rounds are like it; else from
/// messages between two ranks; an Error (kUsage) where there is neither.
Result<Link> link_of(const std::vector<cost::LinkTable>& tables);

}  // namespace weft::reshard
