// SPDX-License-Identifier: Apache-2.0
// Boxes that a kernel copies tile by tile, by way of memory of its own: those between rows of an
// array and dense messages whose ends fall anywhere. Two messages that meet in a row meet in a
// sector of the cache, which takes a part of one several times slower than all of it; and a thread
// that looks for its bytes alone spends more time on that than on the copy.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/rows.h"

namespace weft::reshard::execute::cuda {

/// Takes from `boxes` what is better woven, in as few weaves as possible: boxes of messages at
/// equal distances that lie side by side in the array are one. What is left keeps its order.
std::vector<Weave> take_weaves(std::vector<Rows>& boxes);

}  // namespace weft::reshard::execute::cuda
