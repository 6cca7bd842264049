// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/capacity.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "weft/pipeline/plan/cliques.h"
#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/plan/random_task.h"

namespace weft::pipeline {
namespace {

TEST(Cliques, BandwidthsEqualTheBestOverAllSetsOfDevices) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    Cluster cluster = random_cluster(random, 2 + round % 7, false);
    for (std::int64_t& bandwidth : cluster.bandwidth) {
      if (random() % 4 == 0) bandwidth = static_cast<std::int64_t>(random() % 3) * 7'000'000'000;
    }
    std::vector<std::int64_t> best(cluster.devices + 1, 0);
    best[0] = best[1] = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t set = 1; set < 1u << cluster.devices; ++set) {
      std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
      for (std::int32_t i = 0; i < cluster.devices; ++i) {
        for (std::int32_t j = 0; j < cluster.devices; ++j) {
          if (i == j || (set >> i & set >> j & 1) == 0) continue;
          slowest = std::min(slowest, cluster.bandwidth_of(i, j));
        }
      }
      std::int64_t& known = best[std::popcount(set)];
      known = std::max(known, slowest);
    }
    EXPECT_EQ(clique_bandwidths(cluster), best) << "round " << round;
  }
}

TEST(Capacity, GroupsHaveTheSpeedOfTheirSlowestDevice) {
  EXPECT_EQ(most_speed({1, 1, 1}), (std::vector<double>{0, 3, 3, 3}));
  // One group has four devices at the speed of the slowest, 0.5. Two groups separate the fast
  // device from the three slow ones.
  EXPECT_EQ(most_speed({0.5, 1, 0.5, 0.5}), (std::vector<double>{0, 2, 2.5, 2.5, 2.5}));
}

/// Compares the bound with the step of the exact planner, which tries all sets of devices if there
/// are at most eight devices.
TEST(Capacity, IsALowerBoundOfTheOptimalStep) {
  std::mt19937 random(19);
  double parts = 0;
  for (int round = 0; round < 24; ++round) {
    Profile profile = random_layers(random, 6 + round % 9);
    if (round % 3 == 1) {
      for (Layer& layer : profile.layers) layer.weight = layer.backward / 2;
    }
    Task task;
    task.chain = layer_chain(profile);
    task.cluster = random_cluster(random, 3 + round % 4, true);
    task.micro_batches = 1 + round % 12;
    PlannerOptions options;
    options.chunks = 1;
    if (round % 4 == 3) options.stages = 2;
    const auto planned = make_plan(task, options);
    ASSERT_TRUE(planned) << planned.error().text();
    ASSERT_TRUE(planned->exhausted);
    std::vector<GroupCost> replicas;
    for (const Group& group : ideal_groups(task.cluster, {})) {
      if (group.first) replicas.push_back(group.cost);
    }
    const Nanos bound = capacity_bound(task, replicas, options.stages, 0, 2 * planned->plan.step);
    EXPECT_LE(bound, planned->plan.step) << "round " << round;
    parts += static_cast<double>(bound) / static_cast<double>(planned->plan.step);
  }
  EXPECT_GT(parts / 24, 0.8);
}

}  // namespace
}  // namespace weft::pipeline
