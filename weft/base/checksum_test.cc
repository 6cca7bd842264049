// SPDX-License-Identifier: Apache-2.0
#include "weft/base/checksum.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Checksum, IsCrc64Xz) {
  // The check value of CRC-64/XZ in the usual catalogues.
  EXPECT_EQ(checksum("123456789"), 0x995dc9bbdf1939faULL);
  EXPECT_EQ(checksum(""), 0u);
}

TEST(Checksum, ChangesWithEverySingleBit) {
  const std::string whole = "what a profiler measured on one rank";
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(checksum(damaged), checksum(whole)) << "bit " << bit;
  }
}

}  // namespace
}  // namespace weft
