// SPDX-License-Identifier: Apache-2.0
// Copies with their loops joined: rows of bytes, which the kernels share out.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

struct Rows {
  const Copy* copy = nullptr;
  std::int64_t from = 0, to = 0;
  std::int64_t run = 0;
  std::vector<CopyLoop> loops;  ///< outermost first
  int alignment = 1;            ///< of all rows and their lengths, on both sides, in bytes
  bool from_blocks = false;     ///< all rows of the source are whole blocks
  bool steady = false;          ///< all rows begin at the same place of a block of the target
};

/// What threads copy at most at a time.
inline constexpr std::int64_t kBlock = 16;

/// `alignment`: of each buffer's address, 1 to 16.
Rows rows_of(const Copy& copy, const std::vector<int>& alignment);

/// The largest power of two, up to 16, that divides all numbers whose bits are set there.
int lowest_bit(std::int64_t bits);

}  // namespace weft::reshard::execute::cuda
