// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/price.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

TEST(Price, ALinkIsAStepAndABandwidth) {
  const auto link = parse_link("10us,25GB/s");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->step, 10'000'000);
  EXPECT_EQ(link->bandwidth, 25'000'000'000);
  EXPECT_EQ(parse_link("0.5us,400MB/s")->step, 500'000);
  EXPECT_EQ(parse_link("0us")->step, 0);
  EXPECT_EQ(parse_link("0us")->bandwidth, 25'000'000'000);
  for (const char* text :
       {"", "10", "25GB/s", "10,25GB/s", "10us,25", "10us,0GB/s", "-1us,1GB/s"}) {
    EXPECT_FALSE(parse_link(text)) << text;
  }
}

TEST(Price, AByteAt25GigabytesASecondTakes40Picoseconds) {
  Link link;
  link.step = 100;
  link.message = 7;
  EXPECT_EQ(price(link, {.recv_max = 3, .recv_total = 3, .peers_max = 2}, 4), 100 + 14 + 480);
  EXPECT_EQ(price(link, Traffic{}, 4), 0) << "a step in which nothing moves is free";
}

TEST(Price, SizesAreScaledWithoutRounding) {
  Link link;
  link.step = 0;
  link.grow = 64 << 20;
  link.shrink = 12;
  EXPECT_EQ(price(link, 0, 0, 12), 40ll * (64 << 20));
  EXPECT_EQ(price(link, 0, 0, std::int64_t{1} << 50) > 0, true);
}

}  // namespace
}  // namespace weft::reshard
