// SPDX-License-Identifier: Apache-2.0
#include "weft/base/decimal.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Decimal, MicrosecondsBecomeExactNanoseconds) {
  EXPECT_EQ(parse_scaled("1706850122846038", 3), 1706850122846038000);
  EXPECT_EQ(parse_scaled("4458676522690.655", 3), 4458676522690655);
  EXPECT_EQ(parse_scaled("1712195495519695.8", 3), 1712195495519695800);
  EXPECT_EQ(parse_scaled("0.001", 3), 1);
  EXPECT_EQ(parse_scaled("-3.5", 3), -3500);
  for (const char* text : {"1706850122846038", "4458676522690.655", "1712195495519695.8", "7",
                           "0.5", "12.3456", "-1.5", "1e3", "", "99999999999999999999",
                           "9223372036854776", "9100000000000000", "1.2x", "."}) {
    EXPECT_EQ(parse_thousandths(text), parse_scaled(text, 3)) << text;
  }
}

TEST(Decimal, RoundsHalfAwayFromZero) {
  EXPECT_EQ(parse_scaled("12.3455", 3), 12346);
  EXPECT_EQ(parse_scaled("12.3454999", 3), 12345);
  EXPECT_EQ(parse_scaled("-0.0005", 3), -1);
  EXPECT_EQ(parse_scaled("0.9996", 3), 1000);
  EXPECT_EQ(parse_scaled("848671.6747283936", 3), 848671675);
}

TEST(Decimal, TakesExponents) {
  EXPECT_EQ(parse_scaled("1.5e3", 0), 1500);
  EXPECT_EQ(parse_scaled("1.706850122846038E15", 3), 1706850122846038000);
  EXPECT_EQ(parse_scaled("15e-1", 0), 2);
  EXPECT_EQ(parse_scaled("1e-30", 3), 0);
  EXPECT_EQ(parse_scaled("0e999999", 3), 0);
}

TEST(Decimal, OtherTextsAndLargeNumbersGiveNullopt) {
  for (const char* text : {"", "-", ".", "NaN", "1e", "1.2.3", "0x10", "1e400",
                           "9223372036854775808", "99999999999999999999", " 1"}) {
    EXPECT_FALSE(parse_scaled(text, 0)) << text;
  }
  EXPECT_EQ(parse_int("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("7.4"), 7);
  EXPECT_EQ(parse_digits("74"), 74);
  for (const char* text : {"", "7.4", "1e3", "-7", "+7"}) EXPECT_FALSE(parse_digits(text)) << text;
  EXPECT_FALSE(parse_scaled("9223372036854775807", 3));
}

TEST(Decimal, DoublesMustBeTheWholeText) {
  EXPECT_EQ(parse_double("0.1"), 0.1);
  EXPECT_FALSE(parse_double("0.1x"));
}

}  // namespace
}  // namespace weft
