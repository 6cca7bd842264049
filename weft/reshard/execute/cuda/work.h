// SPDX-License-Identifier: Apache-2.0
// Copies as work for the kernels: boxes with as few loops as possible, divided into shares of equal
// size, one a warp, whatever boxes they belong to.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

/// One launch of a kernel.
struct Launch {
  enum class Kind {
    kCopy,
    kWeave,    ///< copies, too, in tiles
    kCombine,  ///< or fills or scales
  };

  Kind kind = Kind::kCopy;
  std::vector<Job> jobs = {};
  std::vector<Source> sources = {};
  std::vector<Share> shares = {};
  std::vector<Weave> weaves = {};  ///< kWeave has these and tiles, others have jobs
  std::vector<Tile> tiles = {};
};

/// Launches in the order in which they must run: what fills, what replaces, what adds, what scales.
/// Copies of one kind must not overlap in their targets, but adds may: those of equal boxes run as
/// one, others in later launches, so that each element is added to in the order of the copies. No
/// launches where there is nothing to do.
/// `alignment`: of each buffer's address, 1 to 16.
std::vector<Launch> make_work(const std::vector<Copy>& copies, const std::vector<int>& alignment);

/// For a divisor from 1 to 2^31 - 1.
Divisor make_divisor(std::uint32_t divisor);

}  // namespace weft::reshard::execute::cuda
