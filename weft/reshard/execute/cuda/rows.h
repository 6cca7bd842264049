// SPDX-License-Identifier: Apache-2.0
// Joins the loops of copies. A copy then consists of rows of contiguous bytes, which the kernels
// divide among threads.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"

namespace weft::reshard::execute::cuda {

struct Rows {
  const Copy* copy = nullptr;
  std::int64_t from = 0, to = 0;
  std::int64_t run = 0;
  std::vector<CopyLoop> loops;  ///< outermost first
  /// A number of bytes that divides the addresses of all rows, in source and target, and the
  /// lengths of all rows.
  int alignment = 1;
  bool from_blocks = false;  ///< all rows of the source consist of whole blocks
  bool steady = false;       ///< all rows begin at the same offset in a block of the target
};

/// The most bytes that a thread copies at a time: one block.
inline constexpr std::int64_t kBlock = 16;

/// `alignment`: per buffer, the alignment of its address, 1 to 16 bytes.
Rows rows_of(const Copy& copy, const std::vector<int>& alignment);

/// The largest power of two, up to 16, that divides several numbers. `bits` is the bitwise or of
/// these numbers.
int lowest_bit(std::int64_t bits);

}  // namespace weft::reshard::execute::cuda
