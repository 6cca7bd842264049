// SPDX-License-Identifier: Apache-2.0
#include "weft/base/suggest.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Suggest, CountsASwapOfNeighboursAsOneMistake) {
  EXPECT_EQ(edit_distance("info", "inof"), 1u);
  EXPECT_EQ(edit_distance("info", "info"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("replay", "repaly"), 1u);
}

TEST(Suggest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("inof", {"info", "list"}), "info");
  EXPECT_EQ(nearest("frobnicate", {"info", "list"}), "");
  EXPECT_EQ(nearest("x", {"a"}), "");
}

}  // namespace
}  // namespace weft
