// SPDX-License-Identifier: Apache-2.0
// Turns copies into work for the kernels. Boxes get as few loops as possible. Each warp gets the
// same amount of work.
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
  std::vector<TiledCopy> tiled = {};  ///< kTiled uses `tiled` and `tiles`; other kinds use `boxes`
  std::vector<Tile> tiles = {};
};

/// Returns launches in the order in which they must run: first those that fill, then those that
/// replace, then those that add, and then those that scale. Returns nothing if there is nothing to
/// do. `alignment`: per buffer, the alignment of its address, 1 to 16 bytes.
///
/// Targets of copies of one kind must not overlap, except if they add. Several additions to the
/// same box run as one. If boxes overlap in another way, the later box runs in a later launch. So
/// additions to the same element run in the order of the copies.
std::vector<Launch> make_work(const std::vector<Copy>& copies, const std::vector<int>& alignment);

/// `divisor`: from 1 to 2^31 - 1.
Divisor make_divisor(std::uint32_t divisor);

}  // namespace weft::reshard::execute::cuda
