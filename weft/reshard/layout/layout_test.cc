// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/layout.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

TEST(Layout, BlocksGoToDevicesInTurn) {
  BlockCyclic deal;
  deal.block[0] = deal.block[1] = 2;
  deal.grid[0] = 2;
  deal.source[0] = 1;
  const Layout layout = layout_of({7, 3}, deal, 3);
  EXPECT_EQ(layout.region(0), (std::vector<Strips>{{{2, 4}, {6, 7}}, {{0, 3}}}));
  EXPECT_EQ(layout.region(1), (std::vector<Strips>{{{0, 2}, {4, 6}}, {{0, 3}}}));
  EXPECT_FALSE(layout.holds(2));
  EXPECT_TRUE(check_source(layout).has_value());
}

TEST(Layout, ADeviceMayHoldSeveralBoxes) {
  const Layout layout = layout_of_boxes({4}, {{{{0, 1}}, {{3, 4}}}, {{{1, 3}}}, {}});
  EXPECT_EQ(layout.devices(), 3);
  EXPECT_EQ(layout.parts(), 4);
  EXPECT_EQ(layout.device_of(3), 0);
  EXPECT_EQ(layout.largest(), 2);
  EXPECT_TRUE(check_source(layout).has_value());
}

TEST(Layout, APartMayBeMadeOfStrips) {
  const Layout layout = layout_of_parts(
      {4, 4}, {{{{{0, 4}}, {{0, 1}, {2, 3}}}}, {{{{0, 4}}, {{1, 2}}}, {{{0, 4}}, {{3, 4}}}}});
  EXPECT_EQ(layout.elements(0), 8);
  EXPECT_EQ(layout.device_of(2), 1);
  EXPECT_TRUE(check_source(layout).has_value());
}

TEST(Layout, ARangeOfTheFlattenedArrayIsAtMostThreeBoxesInTwoDimensions) {
  const Box box{{0, 5}, {2, 9}};
  EXPECT_EQ(flat_range(box, 9, 18), (std::vector<Box>{{{1, 2}, {4, 9}}, {{2, 3}, {2, 6}}}));
  for (std::int64_t low = 0; low <= 35; ++low) {
    for (std::int64_t high = low; high <= 35; ++high) {
      std::int64_t sum = 0;
      for (const Box& piece : flat_range(box, low, high)) sum += volume(piece);
      EXPECT_EQ(sum, high - low);
      EXPECT_LE(flat_range(box, low, high).size(), 3u);
    }
  }
}

TEST(Layout, ASourceMustHoldEveryElementInOneDistinctRegion) {
  const Layout hole = layout_of_boxes({4}, {{{{0, 2}}}, {{{3, 4}}}});
  EXPECT_EQ(check_source(hole).error().message,
            "the source does not hold every element of the array");
  const Layout overlap = layout_of_boxes({4}, {{{{0, 3}}}, {{{2, 4}}}});
  EXPECT_EQ(check_source(overlap).error().message,
            "two parts of the source overlap but are not equal; each element must be in one part, "
            "or in equal copies of it");
  const Layout copies = layout_of_boxes({4}, {{{{0, 4}}}, {{{0, 4}}}});
  EXPECT_TRUE(check_source(copies).has_value());
}

}  // namespace
}  // namespace weft::reshard
