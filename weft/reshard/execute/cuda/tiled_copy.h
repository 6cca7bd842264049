// SPDX-License-Identifier: Apache-2.0
// Chooses boxes that a kernel copies tile by tile through shared memory. These boxes are copied
// between rows of an array and dense messages whose ends are not aligned. There are two reasons for
// tiles:
// - Two messages may share a sector of the cache. Without tiles, each message would be written
//   alone, and would fill only a part of this sector. Writing a part of a sector is several times
//   slower than writing all of it.
// - Without tiles, each thread would have to locate the bytes of its slots by itself. This takes
//   longer than the copy.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/rows.h"

namespace weft::reshard::execute::cuda {

/// Removes from `boxes` the boxes that are copied faster in tiles, and returns these as tiled
/// copies. There are as few tiled copies as possible: if boxes are adjacent in the array and their
/// messages are at equal distances, they become one tiled copy. The remaining boxes keep their
/// order.
std::vector<TiledCopy> take_tiled_copies(std::vector<Rows>& boxes);

}  // namespace weft::reshard::execute::cuda
