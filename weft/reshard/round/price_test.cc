// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/price.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

TEST(Price, ALinkTextHasTheStepCostAndTheBandwidth) {
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

/// The window has 16 bytes, so messages have at most 8 bytes.
TEST(Price, ARoundThatExceedsTheWindowIsPricedAsSeveralRounds) {
  Link link;
  link.step = 100;
  link.message = 7;
  link.bandwidth = 1'000'000'000'000;
  link.window = 16;
  const Traffic fits{.recv_max = 4, .recv_total = 4, .peers_max = 2};
  EXPECT_EQ(messages(link, fits, 4), 2);
  EXPECT_EQ(price(link, fits, 4), 100 + 2 * 7 + 16);
  const Traffic more{.recv_max = 9, .recv_total = 9, .peers_max = 2};
  // Each of two peers sends at most 20 bytes, as messages of 8, 8 and 4 bytes. 36 bytes in total
  // take three rounds.
  EXPECT_EQ(messages(link, more, 4), 6);
  EXPECT_EQ(price(link, more, 4), 3 * 100 + 6 * 7 + 36);
  EXPECT_EQ(least_price(link, more, 4), 3 * 100 + 5 * 7 + 36);
  link.grow = 2;
  EXPECT_EQ(price(link, fits, 4), 2 * 100 + 4 * 7 + 32);
  link.window = 0;
  EXPECT_EQ(price(link, fits, 4), 100 + 2 * 7 + 32);
  EXPECT_EQ(messages(link, more, 4), 2);
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
