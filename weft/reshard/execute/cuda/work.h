// SPDX-License-Identifier: Apache-2.0
// Copies as work for the kernels: boxes with as few loops as possible, divided into work of equal
// size for each warp, whatever boxes it belongs to.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

/// One launch of a kernel.
struct Launch {
  enum class Kind {
    kCopy,
    kTiled,    ///< copies in tiles, see tiled_copy.h
    kCombine,  ///< combines, fills or scales
  };

  Kind kind = Kind::kCopy;
  std::vector<BoxWork> boxes = {};
  std::vector<Source> sources = {};
  std::vector<WarpWork> warps = {};
  std::vector<TiledCopy> tiled = {};  ///< kTiled uses these and tiles, the others use boxes
  std::vector<Tile> tiles = {};
};

/// The launches in the order in which they must run: first those that fill, then those that
/// replace, those that add, and those that scale. Targets of copies of one kind must not overlap,
/// except if they add. Additions to the same box run as one; boxes that overlap run in later
/// launches, so that each element is added to in the order of the copies. Empty if there is nothing
/// to do. `alignment`: of each buffer's address, 1 to 16 bytes.
std::vector<Launch> make_work(const std::vector<Copy>& copies, const std::vector<int>& alignment);

/// `divisor`: from 1 to 2^31 - 1.
Divisor make_divisor(std::uint32_t divisor);

}  // namespace weft::reshard::execute::cuda
