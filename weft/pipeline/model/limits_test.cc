// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/model/limits.h"

#include <gtest/gtest.h>

#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/plan/random_task.h"

namespace weft::pipeline {
namespace {

Task usual() {
  std::mt19937 random(1);
  Task task;
  task.chain = layer_chain(random_layers(random, 4));
  task.cluster = uniform_cluster(3, 1'000'000'000, 2000);
  task.micro_batches = 8;
  return task;
}

std::string why_not(const Task& task) {
  const auto plan = make_plan(task, {});
  if (plan) return "";
  EXPECT_EQ(plan.error().code, ErrorCode::kBadInput);
  return plan.error().message;
}

TEST(Limits, ErrorsNameTheValueThatNoRealTaskHas) {
  EXPECT_EQ(why_not(usual()), "");
  const auto expect = [](const Task& task, const char* says) {
    EXPECT_NE(why_not(task).find(says), std::string::npos) << why_not(task);
  };
  Task task = usual();
  task.cluster.speed[1] = 1e-12;
  expect(task, "on the slowest device; give the times of layers in milliseconds");
  task = usual();
  for (std::size_t i = 1; i < task.chain.forward.size(); ++i) {
    task.chain.forward[i] += Nanos{4} << 42;
  }
  expect(task, "layer '0' takes");
  task = usual();
  task.cluster.bandwidth[1] = 1;
  expect(task, "over the slowest link, which has 1 bytes per second");
  task = usual();
  task.cluster.shared = {{{0}, {1}, 1}};
  expect(task, "over the slowest link");
  task = usual();
  task.cluster.latency[5] = Nanos{1} << 55;
  expect(task, "a latency of");
  task = usual();
  task.state_factor = Bytes{1} << 50;
  expect(task, "parameters and their state would take");
  task = usual();
  task.chain.stash.back() = Bytes{1} << 55;
  expect(task, "all micro-batches would take");
}

}  // namespace
}  // namespace weft::pipeline
