// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/box.h"

#include <gtest/gtest.h>

#include <random>

namespace weft::reshard {
namespace {

TEST(Box, StripsAreSortedAndJoinedIfTheyTouch) {
  EXPECT_EQ(strips_of({{4, 6}, {0, 2}, {2, 3}, {9, 9}}), (Strips{{0, 3}, {4, 6}}));
}

TEST(Box, AScalarHasOneElement) {
  EXPECT_EQ(volume({}), 1);
  int boxes = 0;
  for_each_box({}, [&](const Box&) { ++boxes; });
  EXPECT_EQ(boxes, 1);
}

TEST(Box, ProductsOfStripsAreVisitedInRowMajorOrder) {
  std::vector<Box> boxes;
  for_each_box({{{0, 1}, {2, 3}}, {{0, 4}}}, [&](const Box& box) { boxes.push_back(box); });
  EXPECT_EQ(boxes, (std::vector<Box>{{{0, 1}, {0, 4}}, {{2, 3}, {0, 4}}}));
  for_each_box({{{0, 1}}, {}}, [&](const Box&) { ADD_FAILURE() << "a side is empty"; });
}

TEST(Box, IntersectionsAgreeWithMembershipElementByElement) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const auto some = [&] {
      Strips intervals;
      for (int i = 0; i < 4; ++i) {
        const auto low = static_cast<std::int64_t>(random() % 20);
        intervals.push_back({low, low + static_cast<std::int64_t>(random() % 5)});
      }
      return strips_of(intervals);
    };
    const Strips a = some(), b = some(), both = intersect(a, b);
    const auto holds = [](const Strips& strips, std::int64_t at) {
      return std::any_of(strips.begin(), strips.end(),
                         [&](const Interval& strip) { return strip.low <= at && at < strip.high; });
    };
    for (std::int64_t at = 0; at < 25; ++at) {
      EXPECT_EQ(holds(both, at), holds(a, at) && holds(b, at));
    }
    EXPECT_EQ(common_length(a, b), length(both));
    EXPECT_TRUE(covers(a, both));
  }
}

}  // namespace
}  // namespace weft::reshard
