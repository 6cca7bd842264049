// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/problem.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

TEST(Problem, EndsMayBeAMeshAndPartsAndOtherDevicesMayTakeNoPart) {
  const auto mesh = make_mesh({{"x", 2}}, {7, 3});
  Sharding rows{*mesh, {{mesh->axes[0]}, {}}, {}};
  End parts;
  parts.parts[5] = {{{{0, 4}}, {{0, 2}}}};
  const auto problem = make_problem({4, 2}, 4, {rows, {}}, parts, SplitRule::kCeilFlat, {9});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->devices, (std::vector<std::int64_t>{3, 5, 7, 9}));
  // Device 7 holds the first rows, because it is the first device of the mesh.
  EXPECT_EQ(problem->source.region(2)[0], (Strips{{0, 2}}));
  EXPECT_TRUE(problem->target.holds(1));
  EXPECT_FALSE(problem->source.holds(3) || problem->target.holds(3));
}

TEST(Problem, PartsOutsideTheArrayAreRefused) {
  End beyond, flat;
  beyond.parts[0] = {{{{0, 5}}}};
  flat.parts[0] = {{{{0, 4}}, {{0, 1}}}};
  for (const End& end : {beyond, flat}) {
    const auto problem = make_problem({4}, 4, end, end, SplitRule::kCeilFlat);
    ASSERT_FALSE(problem);
    EXPECT_EQ(problem.error().code, ErrorCode::kBadInput);
  }
}

TEST(Problem, NodesAreNumberedWithoutGapsForSparseDeviceNumbers) {
  End end;
  for (const std::int64_t device : {1L, 2L, 7L, 4'000'000'000L}) end.parts[device] = {{{{0, 4}}}};
  auto problem = make_problem({4}, 4, end, end, SplitRule::kCeilFlat);
  ASSERT_TRUE(problem);
  set_nodes(*problem, 2);
  EXPECT_EQ(problem->node_of, (std::vector<std::int32_t>{0, 1, 2, 3}));
  set_nodes(*problem, 3);
  EXPECT_EQ(problem->node_of, (std::vector<std::int32_t>{0, 0, 1, 2}));
}

}  // namespace
}  // namespace weft::reshard
