// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/cluster_costs.h"

#include <gtest/gtest.h>

#include "weft/pipeline/plan/random_task.h"

namespace weft::pipeline {
namespace {

TEST(ClusterCosts, CachedCostsEqualThoseComputedAnew) {
  std::mt19937 random(2);
  Cluster cluster = random_cluster(random, 6, true);
  cluster.shared = {{{0, 1, 2}, {3, 4, 5}, 2'000'000'000}};
  cluster.memory = {0, 5, 4, 3, 2, 1};
  ClusterCosts costs(cluster);
  const std::vector<std::vector<std::int32_t>> groups{{0}, {1, 2}, {3, 4, 5}, {2, 3}, {1, 2}};
  for (int again = 0; again < 2; ++again) {
    for (const auto& from : groups) {
      const ClusterCosts::Id id = costs.id(from);
      const GroupCost cost = group_cost(cluster, from);
      EXPECT_EQ(costs.group(id).work, cost.work);
      EXPECT_EQ(costs.group(id).reduce, cost.reduce);
      EXPECT_EQ(costs.memory(id), smallest_memory(cluster, from));
      EXPECT_EQ(costs.crossed(id), crossed_inside(cluster, from));
      for (const auto& to : groups) {
        const ChannelCost channel = channel_cost(cluster, from, to);
        EXPECT_EQ(costs.channel(id, costs.id(to)).per_byte, channel.per_byte);
        EXPECT_EQ(costs.channel(id, costs.id(to)).shared, channel.shared);
      }
    }
  }
  EXPECT_EQ(costs.id({1, 2}), costs.id(groups.back()));
}

/// set_recomputation() on an existing pipeline must give the same pipeline as building it anew.
TEST(ClusterCosts, SettingRecomputationEqualsBuildingANewPipeline) {
  std::mt19937 random(5);
  Task task;
  task.chain = layer_chain(random_layers(random, 9));
  task.cluster = random_cluster(random, 4, true);
  task.micro_batches = 5;
  task.limit_memory = true;
  ClusterCosts costs(task.cluster);
  std::vector<PlannedStage> stages{
      {0, 2, {0, 2}, false}, {2, 5, {1}, false}, {5, 8, {0, 2}, false}, {8, 9, {1}, false}};
  Pipeline pipeline;
  ASSERT_TRUE(pipeline_without_limits(task, stages, costs, pipeline));
  int unfit = 0;
  for (Bytes memory = 100'000'000; memory < 1'000'000'000; memory += 20'000'000) {
    task.cluster.memory.assign(4, memory);
    for (unsigned set = 1; set < 16; ++set) {
      for (unsigned s = 0; s < 4; ++s) stages[s].recompute = (set >> s & 1) != 0;
      const auto anew = pipeline_of(task, stages);
      ASSERT_EQ(set_recomputation(task, stages, costs, pipeline), anew.has_value());
      if (!anew) {
        ++unfit;
        continue;
      }
      EXPECT_EQ(pipeline.memory_limits, anew->memory_limits);
      for (std::size_t s = 0; s < stages.size(); ++s) {
        const Stage &one = pipeline.stages[s], &other = anew->stages[s];
        EXPECT_EQ(one.forward, other.forward);
        EXPECT_EQ(one.input, other.input);
        EXPECT_EQ(one.weight, other.weight);
        EXPECT_EQ(one.forward_memory, other.forward_memory);
        EXPECT_EQ(one.weight_memory, other.weight_memory);
      }
    }
  }
  EXPECT_GT(unfit, 0);
  EXPECT_LT(unfit, 15 * 45);
}

TEST(ClusterCosts, NumbersGroupsByTheirFirstStage) {
  const Cluster cluster = uniform_cluster(4, 1'000'000'000);
  ClusterCosts costs(cluster);
  const ClusterCosts::Id a = costs.id({3}), b = costs.id({0, 1}), c = costs.id({2});
  std::vector<DeviceId> groups;
  costs.number({b, a, b, c, a}, groups);
  EXPECT_EQ(groups, (std::vector<DeviceId>{0, 1, 0, 2, 1}));
  costs.number({c, b}, groups);
  EXPECT_EQ(groups, (std::vector<DeviceId>{0, 1}));
}

}  // namespace
}  // namespace weft::pipeline
