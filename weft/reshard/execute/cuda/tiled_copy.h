// SPDX-License-Identifier: Apache-2.0
// Chooses boxes that a kernel copies tile by tile through shared memory: boxes between rows of an
// array and dense messages whose ends are not aligned. There, two messages may share a sector of
// the cache, and writing a part of a sector is several times slower than writing all of it. And a
// thread that locates the bytes of each slot by itself spends more time on that than on the copy.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/rows.h"

namespace weft::reshard::execute::cuda {

/// Removes from `boxes` those that are copied faster in tiles, and returns them as tiled copies, as
/// few as possible: boxes of messages at equal distances that are adjacent in the array become one.
/// Boxes that remain keep their order.
std::vector<TiledCopy> take_tiled_copies(std::vector<Rows>& boxes);

}  // namespace weft::reshard::execute::cuda
