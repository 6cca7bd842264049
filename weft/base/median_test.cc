// SPDX-License-Identifier: Apache-2.0
#include "weft/base/median.h"

#include <gtest/gtest.h>

#include "weft/base/units.h"

namespace weft {
namespace {

TEST(Median, IsOneOfTheValues) {
  EXPECT_EQ(median(std::vector<Nanos>{5, 1, 9}), 5);
  EXPECT_EQ(median(std::vector<Nanos>{5, 1, 9, 7}), 7);
  EXPECT_EQ(median(std::vector<double>{2.5}), 2.5);
}

TEST(Median, OfNothingIsZero) { EXPECT_EQ(median(std::vector<Nanos>{}), 0); }

TEST(Quantile, CountsFromTheLeast) {
  std::vector<Nanos> values{40, 10, 30, 20};
  EXPECT_EQ(quantile(values, 0), 10);
  EXPECT_EQ(quantile(values, 0.25), 20);
  EXPECT_EQ(quantile(values, 1), 40);
}

}  // namespace
}  // namespace weft
