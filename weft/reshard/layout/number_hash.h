// SPDX-License-Identifier: Apache-2.0
// Hashes a sequence of numbers into one number, for hash tables and for comparisons between ranks.
// The method is FNV-1a, but each step mixes in a 64-bit number instead of a byte.
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
