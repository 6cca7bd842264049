// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "weft/base/json/document.h"
#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/instances.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {
namespace {

/// All orders of a device that fit into its memory, by simple recursion.
std::vector<std::vector<Op>> all_orders(const Pipeline& pipeline, DeviceId device) {
  std::vector<std::vector<Op>> orders;
  std::vector<Op> order;
  std::map<std::pair<StageId, Kind>, Micro> done;
  const std::function<void(Bytes)> extend = [&](Bytes held) {
    bool any = false;
    for (StageId s = 0; s < static_cast<StageId>(pipeline.stages.size()); ++s) {
      if (pipeline.stages[s].device != device) continue;
      for (const Kind kind : {Kind::kForward, Kind::kInput, Kind::kWeight}) {
        const Micro next = done[{s, kind}];
        const Micro most = kind == Kind::kForward ? pipeline.micro_batches
                           : kind == Kind::kInput ? done[{s, Kind::kForward}]
                                                  : done[{s, Kind::kInput}];
        if (next >= most) continue;
        any = true;
        const Bytes now = held + memory_change(pipeline.stages[s], kind);
        if (!pipeline.memory_limits.empty() && now > pipeline.memory_limits[device]) continue;
        order.push_back({s, kind, next});
        ++done[{s, kind}];
        extend(now);
        --done[{s, kind}];
        order.pop_back();
      }
    }
    if (!any) orders.push_back(order);
  };
  extend(0);
  return orders;
}

/// The best makespan over all combinations of orders.
Nanos brute_force(const Pipeline& pipeline) {
  std::vector<std::vector<std::vector<Op>>> choices;
  for (DeviceId d = 0; d < pipeline.devices(); ++d) choices.push_back(all_orders(pipeline, d));
  Schedule schedule;
  schedule.orders.resize(choices.size());
  Nanos best = -1;
  const std::function<void(std::size_t)> choose = [&](std::size_t device) {
    if (device == choices.size()) {
      const auto timeline = simulate(pipeline, schedule);
      if (timeline && (best < 0 || timeline->makespan < best)) best = timeline->makespan;
      return;
    }
    for (const auto& order : choices[device]) {
      schedule.orders[device] = order;
      choose(device + 1);
    }
  };
  choose(0);
  return best;
}

void expect_sound(const Pipeline& pipeline, const Solution& solution) {
  const auto timeline = simulate(pipeline, solution.schedule);
  ASSERT_TRUE(timeline) << timeline.error().text();
  EXPECT_TRUE(fits(pipeline, *timeline));
  EXPECT_EQ(timeline->makespan, solution.makespan);
  EXPECT_LE(solution.lower_bound, solution.makespan);
}

TEST(Solve, FindsAndProvesTheBestOfAllOrders) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    RandomShape shape;
    shape.stages = shape.devices = 2 + static_cast<StageId>(random() % 2);
    shape.micro_batches = shape.stages == 2 || round % 20 == 0 ? 3 : 2;
    shape.capacity = 1 + static_cast<Bytes>(random() % 3);
    const Pipeline pipeline = random_pipeline(shape, random);
    const Nanos best = brute_force(pipeline);
    const auto solution = solve(pipeline);
    ASSERT_TRUE(solution) << solution.error().text();
    expect_sound(pipeline, *solution);
    EXPECT_EQ(solution->makespan, best);
    EXPECT_TRUE(solution->proved());
    EXPECT_LE(lower_bounds(pipeline).best(), best);
    EXPECT_LE(quick_bound(pipeline), best);
  }
}

TEST(Solve, DevicesWithSeveralStagesAreNoExceptions) {
  std::mt19937 random(5);
  for (int round = 0; round < 6; ++round) {
    RandomShape shape{3, 2, false, 2, static_cast<Bytes>(round % 3) * 2, 0};
    const Pipeline pipeline = random_pipeline(shape, random);
    const Nanos best = brute_force(pipeline);
    const auto solution = solve(pipeline);
    ASSERT_TRUE(solution) << solution.error().text();
    expect_sound(pipeline, *solution);
    EXPECT_EQ(solution->makespan, best);
    EXPECT_TRUE(solution->proved());
    EXPECT_LE(quick_bound(pipeline), best);
  }
}

TEST(Solve, TheQuickBoundIsValidAndUsuallyClose) {
  std::mt19937 random(29);
  double parts = 0;
  for (int round = 0; round < 60; ++round) {
    RandomShape shape{4, 4, false, 8, 0, 0};
    if (round % 3 == 1) shape = {6, 3, round % 2 == 0, 5, 0, static_cast<LinkId>(round % 4)};
    Pipeline pipeline = random_pipeline(shape, random);
    pipeline.split_backward = round % 2 == 0;
    SolveOptions options;
    options.decisions = 200;
    const auto solution = solve(pipeline, options);
    ASSERT_TRUE(solution);
    EXPECT_LE(quick_bound(pipeline), solution->makespan);
    parts += static_cast<double>(quick_bound(pipeline)) /
             static_cast<double>(lower_bounds(pipeline).best());
  }
  EXPECT_GT(parts / 60, 0.93);
}

/// If the memory of the first stage fits only one micro-batch, a micro-batch can start only when
/// the backward of the previous micro-batch has ended.
TEST(Solve, TheQuickBoundCountsTheRoundsThatMemoryForces) {
  Pipeline pipeline = make_chain({3, 4, 5}, {2, 6, 4}, {1, 1, 1}, 2, 7);
  for (Stage& stage : pipeline.stages) {
    stage.forward_memory = 2;
    stage.weight_memory = -2;
  }
  const Nanos free = quick_bound(pipeline);
  pipeline.memory_limits = {2, 14, 14};
  const Nanos round = 3 + 4 + 5 + 2 + 6 + 4 + 4 * 2 + 1;
  EXPECT_EQ(quick_bound(pipeline), 7 * round);
  EXPECT_EQ(solve(pipeline)->makespan, 7 * round);
  pipeline.memory_limits = {4, 14, 14};
  EXPECT_EQ(quick_bound(pipeline), 4 * round);
  pipeline.memory_limits = {14, 14, 14};
  EXPECT_EQ(quick_bound(pipeline), free);
}

TEST(Solve, TakesTheFirstThatFitsIfTimeIsUp) {
  std::mt19937 random(3);
  const Pipeline pipeline = random_pipeline({8, 8, false, 40, 8, 0}, random);
  SolveOptions options;
  options.stop = [] { return true; };
  const auto solution = solve(pipeline, options);
  ASSERT_TRUE(solution) << solution.error().text();
  expect_sound(pipeline, *solution);
  EXPECT_EQ(solution->schedule, *one_f_one_b(pipeline));
  EXPECT_LT(solve_quickly(pipeline)->makespan, solution->makespan);
}

TEST(Solve, SharedLinksNeverBreakTheBound) {
  std::mt19937 random(17);
  for (int round = 0; round < 25; ++round) {
    RandomShape shape{3, 3, false, 2, 3, 1 + static_cast<LinkId>(random() % 2)};
    const Pipeline pipeline = random_pipeline(shape, random);
    const Nanos best = brute_force(pipeline);
    SolveOptions options;
    options.decisions = 1000;
    const auto solution = solve(pipeline, options);
    ASSERT_TRUE(solution);
    expect_sound(pipeline, *solution);
    EXPECT_LE(solution->lower_bound, best);
    EXPECT_GE(solution->makespan, best);
    EXPECT_LE(lower_bounds(pipeline).best(), best);
    EXPECT_LE(quick_bound(pipeline), best);
  }
}

TEST(Solve, WholeBackwardsStayWholeIfTheyMust) {
  Pipeline pipeline = make_chain({5, 5}, {6, 6}, {4, 4}, 0, 4);
  const auto halved = solve(pipeline);
  pipeline.split_backward = false;
  const auto whole = solve(pipeline);
  ASSERT_TRUE(halved && whole);
  EXPECT_LT(halved->makespan, whole->makespan);
  EXPECT_EQ(whole->makespan, 5 * 15);
  EXPECT_TRUE(whole->proved());
  EXPECT_EQ(print(whole->schedule).find('I'), std::string::npos);
}

TEST(Solve, TooManyOrdersAreSearchedNearTheBestSchedule) {
  std::mt19937 random(23);
  for (int round = 0; round < 3; ++round) {
    RandomShape shape{8, 4, true, 6, 0, 0};
    const Pipeline pipeline = random_pipeline(shape, random);
    SolveOptions options;
    options.decisions = 3000;
    options.most_states = 500;
    const auto solution = solve(pipeline, options);
    ASSERT_TRUE(solution);
    expect_sound(pipeline, *solution);
    EXPECT_LE(solution->makespan, solve_quickly(pipeline)->makespan);
  }
}

TEST(Solve, TheSamePipelineGivesTheSameSchedule) {
  std::mt19937 random(29);
  const Pipeline pipeline = random_pipeline({5, 5, false, 8, 3, 0}, random);
  SolveOptions options;
  options.decisions = 2000;
  EXPECT_EQ(solve(pipeline, options)->schedule, solve(pipeline, options)->schedule);
}

TEST(Solve, MemoryThatHoldsOneMicroBatchStillGivesASchedule) {
  std::mt19937 random(31);
  const Pipeline pipeline = random_pipeline({4, 4, false, 5, 1, 0}, random);
  const auto solution = solve(pipeline);
  ASSERT_TRUE(solution) << solution.error().text();
  expect_sound(pipeline, *solution);
}

TEST(Solve, StagesThatShareTooLittleMemoryHaveNoSchedule) {
  Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 2);
  for (Stage& stage : pipeline.stages) {
    stage.device = 0;
    stage.forward_memory = 2;
    stage.input_memory = stage.weight_memory = -1;
  }
  pipeline.memory_limits = {3};  // each stage fits alone, but the device must hold both at once
  const auto solution = solve(pipeline);
  ASSERT_FALSE(solution);
  EXPECT_EQ(solution.error().code, ErrorCode::kInfeasible);
  pipeline.memory_limits = {4};
  EXPECT_TRUE(solve(pipeline));
}

TEST(ListSchedule, EquivalentRulesAreUsedOnce) {
  std::mt19937 random(6);
  Pipeline pipeline = random_pipeline({6, 3, false, 6, 8, 0}, random);
  const auto schedules = [&](bool asked_once) {
    std::vector<PriorityRule> rules = different_rules(pipeline);
    for (PriorityRule rule : zero_bubble_rules()) {
      for (const bool whole : {false, true}) {
        rule.whole_backwards = whole;
        if (!asked_once) rules.push_back(rule);
      }
    }
    std::vector<std::string> all;
    for (const PriorityRule& rule : rules) {
      if (const auto schedule = list_schedule(pipeline, rule)) all.push_back(print(*schedule));
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  for (const bool halves : {true, false}) {
    pipeline.split_backward = halves;
    EXPECT_EQ(different_rules(pipeline).size(), halves ? 12 : 4);
    EXPECT_EQ(schedules(true), schedules(false));
  }
}

/// A ListScheduler that is used again keeps nothing from earlier runs.
TEST(ListSchedule, ReusedBuffersChangeNothing) {
  std::mt19937 random(12);
  ListScheduler scheduler;
  for (int round = 0; round < 30; ++round) {
    RandomShape shape;
    shape.stages = 2 + round % 5;
    shape.devices = std::max(1, shape.stages - round % 3);
    shape.micro_batches = 3 + round % 4;
    shape.capacity = round % 4 == 3 ? 0 : 4 + round % 4;
    const Pipeline pipeline = random_pipeline(shape, random);
    for (const PriorityRule& rule : different_rules(pipeline)) {
      const auto alone = list_schedule(pipeline, rule);
      const auto end = scheduler.run(pipeline, rule, std::numeric_limits<Nanos>::max());
      ASSERT_EQ(end == ListScheduler::End::kDone, alone.has_value());
      if (alone) {
        EXPECT_EQ(scheduler.schedule(), *alone);
      }
    }
  }
}

TEST(ListSchedule, EveryRuleKeepsToTheMemory) {
  std::mt19937 random(41);
  for (int round = 0; round < 40; ++round) {
    RandomShape shape;
    shape.is_v = round % 2 == 1;
    shape.devices = 3;
    shape.stages = shape.is_v ? 6 : 3;
    shape.capacity = 2 + round % 4;
    const Pipeline pipeline = random_pipeline(shape, random);
    for (const PriorityRule& rule : zero_bubble_rules()) {
      const auto schedule = list_schedule(pipeline, rule);
      ASSERT_TRUE(schedule) << schedule.error().text();
      const auto timeline = simulate(pipeline, *schedule);
      ASSERT_TRUE(timeline);
      EXPECT_TRUE(fits(pipeline, *timeline));
      EXPECT_GE(timeline->makespan, lower_bounds(pipeline).best());
      EXPECT_GE(timeline->makespan, quick_bound(pipeline));
    }
  }
}

namespace fs = std::filesystem;
const fs::path kReference =
    fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines" / "weft_reference";

TEST(SharedInstances, ExactSmallSchedulesAreReachedAndProved) {
  const fs::path file = kReference / "small_exact_schedules.json";
  if (!fs::exists(file)) GTEST_SKIP() << "the shared instances are not beside this checkout";
  const auto pipelines = read_instances(file.string());
  ASSERT_TRUE(pipelines) << pipelines.error().text();
  const auto json = read_json(file.string());
  for (std::size_t i = 0; i < pipelines->size(); ++i) {
    const auto solution = solve((*pipelines)[i]);
    ASSERT_TRUE(solution);
    const double best = *json->find("instances")->items[i].find("opt")->as_double();
    EXPECT_EQ(static_cast<double>(solution->makespan), best) << i;
    EXPECT_TRUE(solution->proved()) << i;
  }
}

TEST(SharedInstances, ZeroBubbleInstancesAreSolvedToTheirBounds) {
  const fs::path file = kReference / "zero_bubble_instances.json";
  if (!fs::exists(file)) GTEST_SKIP() << "the shared instances are not beside this checkout";
  const auto pipelines = read_instances(file.string());
  ASSERT_TRUE(pipelines) << pipelines.error().text();
  for (const Pipeline& pipeline : *pipelines) {
    const auto solution = solve(pipeline);
    ASSERT_TRUE(solution);
    EXPECT_TRUE(solution->proved()) << pipeline.name;
  }
}

TEST(ListSchedule, ALimitRefusesLongerSchedules) {
  std::mt19937 random(8);
  for (int round = 0; round < 30; ++round) {
    RandomShape shape;
    shape.stages = 2 + round % 4;
    shape.devices = std::max(1, shape.stages - round % 2);
    const Pipeline pipeline = random_pipeline(shape, random);
    for (const PriorityRule& rule : zero_bubble_rules()) {
      const auto schedule = list_schedule(pipeline, rule);
      if (!schedule) continue;
      const Nanos makespan = simulate(pipeline, *schedule)->makespan;
      const auto within = list_schedule(pipeline, rule, makespan + 1);
      ASSERT_TRUE(within);
      EXPECT_EQ(*within, *schedule);
      EXPECT_FALSE(list_schedule(pipeline, rule, makespan / 2));
    }
  }
}

}  // namespace
}  // namespace weft::pipeline
