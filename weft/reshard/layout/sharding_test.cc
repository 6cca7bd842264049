// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/sharding.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"

namespace weft::reshard {
namespace {

TEST(Sharding, TheFirstAxisIsTheMostSignificant) {
  const Problem problem = parsed("x=2,y=2", "8", "x+y", "y+x");
  EXPECT_EQ(problem.source.region(1), (std::vector<Strips>{{{2, 4}}}));
  EXPECT_EQ(problem.target.region(1), (std::vector<Strips>{{{4, 6}}}));
}

TEST(Sharding, SubAxesAreDigitsOfAnAxis) {
  const auto mesh = parse_mesh("x=8", "");
  ASSERT_TRUE(mesh);
  const auto axis = mesh->axis("x:(2)2");
  ASSERT_TRUE(axis);
  for (std::int64_t device = 0; device < 8; ++device) {
    EXPECT_EQ(axis->digit(device), device / 2 % 2);
  }
  EXPECT_FALSE(mesh->axis("x:(3)2"));
  EXPECT_FALSE(mesh->axis("x:(2)"));
  EXPECT_NE(mesh->axis("y").error().message.find("no axis 'y'"), std::string::npos);
}

TEST(Sharding, AnAxisCannotBeUsedTwiceOrOverlapAnother) {
  const auto mesh = parse_mesh("x=4,y=2", "");
  ASSERT_TRUE(mesh);
  for (const char* dims : {"x,x", "x:(1)2,x", "x+x,-"}) {
    const auto sharding = parse_sharding(*mesh, dims, "");
    ASSERT_TRUE(sharding) << dims;
    EXPECT_FALSE(check_sharding(*sharding, 2)) << dims;
  }
  EXPECT_TRUE(check_sharding(*parse_sharding(*mesh, "x:(1)2,x:(2)2", ""), 2));
  EXPECT_FALSE(check_sharding(*parse_sharding(*mesh, "x,-", "x"), 2));
}

TEST(Sharding, DevicesHaveTheNumbersTheUserGives) {
  EXPECT_FALSE(parse_mesh("x=2", "3"));
  EXPECT_FALSE(parse_mesh("x=2", "3,3"));
  const auto mesh = parse_mesh("x=2", "7,3");
  ASSERT_TRUE(mesh);
  const auto type = parse_sharding(*mesh, "x", "");
  const auto problem = make_problem({4}, 4, *type, *type, SplitRule::kCeilFlat);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->devices, (std::vector<std::int64_t>{3, 7}));
  EXPECT_EQ(problem->source.region(0), (std::vector<Strips>{{{2, 4}}}));
}

}  // namespace
}  // namespace weft::reshard
