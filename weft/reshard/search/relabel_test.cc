// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/relabel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {
namespace {

TEST(Relabel, NoOtherAssignmentOfDevicesReceivesLess) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Problem problem = random_problem(seed, {.other_mesh = seed % 2 == 0});
    const std::size_t devices = problem.devices.size();
    if (devices > 6) continue;
    const std::int64_t least = bounds(relabelled(problem, best_labels({problem}))).recv_total;
    std::vector<Device> order(devices);
    std::iota(order.begin(), order.end(), 0);
    do {
      EXPECT_LE(least, bounds(relabelled(problem, order)).recv_total) << seed;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Relabel, GridsOfTwoByFourAndFourByTwoSaveAThird) {
  Problem problem;
  problem.shape = {8, 8};
  for (std::int64_t id = 0; id < 8; ++id) problem.devices.push_back(id);
  BlockCyclic wide, tall;
  wide.block[0] = tall.block[1] = 4;
  wide.block[1] = tall.block[0] = 2;
  wide.grid[0] = tall.grid[1] = 2;
  wide.grid[1] = tall.grid[0] = 4;
  problem.source = layout_of(problem.shape, wide, 8);
  problem.target = layout_of(problem.shape, tall, 8);
  const Problem better = relabelled(problem, best_labels({problem}));
  EXPECT_EQ(bounds(problem).recv_total, 48);
  EXPECT_EQ(bounds(better).recv_total, 32);
  const auto plan = make_plan(better, {});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(run_oracle(better, rounds(better, *plan), plan->last(better)));
}

TEST(Relabel, DevicesThatCannotGainKeepTheirParts) {
  const Problem problem = parsed("x=4", "8", "-", "x");
  EXPECT_EQ(best_labels({problem}), (std::vector<Device>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace weft::reshard
