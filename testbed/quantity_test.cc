// SPDX-License-Identifier: Apache-2.0
#include "testbed/quantity.h"

#include <gtest/gtest.h>

namespace weft::testbed {
namespace {

TEST(Quantity, RatesAreReadAsPeopleAndTcWriteThem) {
  EXPECT_EQ(parse_rate("1gbit"), 1'000'000'000);
  EXPECT_EQ(parse_rate("2.5 Gbit/s"), 2'500'000'000);
  EXPECT_EQ(parse_rate("500mbit"), 500'000'000);
  EXPECT_EQ(parse_rate("64kbit"), 64'000);
  for (const char* wrong : {"", "gbit", "1", "1gb", "-1gbit", "0gbit", "1bit", "9999999gbit"}) {
    EXPECT_EQ(parse_rate(wrong), std::nullopt) << wrong;
  }
}

TEST(Quantity, RatesReadBackAsTheSame) {
  for (const std::int64_t rate : {8'001LL, 64'000LL, 2'500'000'000LL, 10'000'000'000LL}) {
    EXPECT_EQ(parse_rate(print_rate(rate)), rate);
  }
  EXPECT_EQ(print_rate(2'500'000'000), "2500mbit");
}

TEST(Quantity, HostsCanOnlyBeSlowed) {
  EXPECT_EQ(parse_speed("0.5"), 500);
  EXPECT_EQ(parse_speed("1"), 1000);
  for (const char* wrong : {"0", "-0.5", "2", "half", "0.0001"}) {
    EXPECT_EQ(parse_speed(wrong), std::nullopt) << wrong;
  }
}

TEST(Quantity, ClocksHaveAnOffsetADriftOrBoth) {
  EXPECT_EQ(parse_clock("+50ms"), (Clock{50 * kMillisecond, 0}));
  EXPECT_EQ(parse_clock("-3us"), (Clock{-3 * kMicrosecond, 0}));
  EXPECT_EQ(parse_clock("50ppm"), (Clock{0, 50'000}));
  EXPECT_EQ(parse_clock("1.5s, -20ppm"), (Clock{1'500'000'000, -20'000}));
  for (const char* wrong : {"", "50", "+50ms,", "1ms,2ms", "1ppm,2ppm", "fast", "1s,2ppm,3s"}) {
    EXPECT_EQ(parse_clock(wrong), std::nullopt) << wrong;
  }
}

TEST(Quantity, ClocksReadBackAsTheSame) {
  for (const Clock& clock : {Clock{50'000'001, -3}, Clock{-7, 0}, Clock{0, 50'000}}) {
    EXPECT_EQ(parse_clock(print_clock(clock)), clock);
  }
}

TEST(Quantity, ScaledNumbersArePlainDecimals) {
  EXPECT_EQ(print_scaled(50 * kMillisecond, 9), "0.050000000");
  EXPECT_EQ(print_scaled(-1'500, 3), "-1.500");
  EXPECT_EQ(print_scaled(0, 3), "0.000");
}

}  // namespace
}  // namespace weft::testbed
