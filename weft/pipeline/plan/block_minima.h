// SPDX-License-Identifier: Apache-2.0
// Keeps the minimum of each block of 32 columns of a table. A search along a row can then skip
// whole blocks that hold no value below its current best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/base/units.h"

namespace weft::pipeline {

class BlockMinima {
 public:
  static constexpr std::int32_t kBlock = 32;

  BlockMinima() = default;
  BlockMinima(std::size_t rows, std::int32_t columns, Nanos none)
      : blocks_((columns + kBlock - 1) / kBlock), least_(rows * blocks_, none) {}

  void add(std::size_t row, std::int32_t column, Nanos value) {
    Nanos& least = least_[row * blocks_ + column / kBlock];
    least = std::min(least, value);
  }
  /// The minimum of the block that contains the column.
  Nanos least(std::size_t row, std::int32_t column) const {
    return least_[row * blocks_ + column / kBlock];
  }

 private:
  std::size_t blocks_ = 0;
  std::vector<Nanos> least_;
};

}  // namespace weft::pipeline
