// SPDX-License-Identifier: Apache-2.0
#include "weft/base/size.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Size, UnitsCountInThousandsOrIn1024s) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_EQ(parse_bytes("100MB"), 100'000'000);
  EXPECT_EQ(parse_bytes("80GB"), 80'000'000'000);
  EXPECT_EQ(parse_bytes("2TB"), 2'000'000'000'000);
  EXPECT_EQ(parse_bytes("3kB"), 3'000);
  EXPECT_EQ(parse_bytes("1KiB"), 1024);
  EXPECT_EQ(parse_bytes("512MiB"), 512 << 20);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3 << 29);
  EXPECT_EQ(parse_bytes("0.25TiB"), Bytes{1} << 38);
  EXPECT_EQ(parse_bytes("0.000000001GB"), 1);
}

TEST(Size, IsWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(exact_bytes(0), "0 B");
  EXPECT_EQ(exact_bytes(999), "999 B");
  EXPECT_EQ(exact_bytes(1000), "1.00 kB");
  EXPECT_EQ(exact_bytes(1'000'000), "1.00 MB");
  EXPECT_EQ(exact_bytes(79'500'000'000), "79.50 GB");
  EXPECT_EQ(exact_bytes(1'200'000'000'000), "1.20 TB");
}

TEST(Size, OtherTextsGiveNullopt) {
  for (const char* text : {"", "GB", "-4", "-4GB", "4KB", "4 KiB", "1e6", "4gb", "4Gb", "1.2.3GB",
                           "99999999999999999999", "99999999999TB", "8388608TiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

}  // namespace
}  // namespace weft
