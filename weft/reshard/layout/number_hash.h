// SPDX-License-Identifier: Apache-2.0
// One number out of many, for tables and for comparisons between ranks: FNV-1a, a whole number at a
// time.
#pragma once

#include <cstdint>

namespace weft::reshard {

class NumberHash {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001B3u; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace weft::reshard
