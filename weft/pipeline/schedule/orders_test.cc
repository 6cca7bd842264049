// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/orders.h"

#include <gtest/gtest.h>

#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/schedule/search.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {
namespace {

/// One stage with F and B. Its orders correspond to balanced brackets, so a Catalan number says how
/// many there are.
Pipeline brackets(Micro micros, Bytes capacity = 0) {
  Pipeline pipeline = make_chain({5}, {3}, {0}, 0, micros);
  pipeline.stages[0].forward_memory = 1;
  pipeline.stages[0].input_memory = -1;
  if (capacity > 0) pipeline.memory_limits = {capacity};
  return pipeline;
}

std::int64_t count_orders(const Orders& orders) {
  std::vector<std::int64_t> ways(orders.size());
  ways[0] = 1;
  for (std::size_t state = 0; state < ways.size(); ++state) {
    for (std::size_t side = 0; side < orders.width(); ++side) {
      const StateId next = orders.next(static_cast<StateId>(state), side);
      if (next >= 0) ways[static_cast<std::size_t>(next)] += ways[state];
    }
  }
  return ways[static_cast<std::size_t>(orders.last())];
}

Orders orders_of(const Pipeline& pipeline) {
  const Chains chains = make_chains(pipeline);
  return *Orders::make(chains, chains.machines[0], 1000);
}

TEST(Orders, PathsAreAllOrdersThatPrecedenceAndMemoryAllow) {
  EXPECT_EQ(count_orders(orders_of(brackets(4))), 14);    // the fourth Catalan number
  EXPECT_EQ(count_orders(orders_of(brackets(4, 2))), 8);  // at most two brackets are open at once
  EXPECT_EQ(count_orders(orders_of(brackets(4, 1))), 1);  // F B F B ...
  // Three chains: the number of standard Young tableaux with three rows of three.
  EXPECT_EQ(count_orders(orders_of(make_chain({1}, {1}, {1}, 0, 3))), 42);
}

TEST(Orders, TooManyStatesAreRefusedBeforeTheyAreMade) {
  const Chains chains = make_chains(brackets(100));
  EXPECT_FALSE(Orders::make(chains, chains.machines[0], 1000));
}

TEST(Orders, ACorridorHasItsPathAndTheStatesNearIt) {
  const Chains chains = make_chains(brackets(4));
  const std::vector<std::size_t> path = {0, 1, 0, 1, 0, 1, 0, 1};
  const auto within = [&](Micro width) {
    return count_orders(*Orders::corridor(chains, chains.machines[0], path, width, 1000));
  };
  EXPECT_EQ(within(0), 1);
  EXPECT_EQ(within(1), 13);  // all orders except the one that starts with FFFF
  EXPECT_EQ(within(4), 14);
}

TEST(Sweep, NarrowsWindowsToWhatOrdersAllow) {
  const Chains chains = make_chains(brackets(2, 1));
  const Orders orders = *Orders::make(chains, chains.machines[0], 1000);
  std::vector<StateId> alive(orders.size());
  for (std::size_t i = 0; i < alive.size(); ++i) alive[i] = static_cast<StateId>(i);
  Windows windows(chains, 17);
  Sweep sweep;
  ASSERT_TRUE(sweep.run(chains, chains.machines[0], orders, alive, windows));
  // The earliest times are F 0-5, B 5-8, F 8-13 and B 13-16. The deadline is 17, so each op may
  // start one unit later.
  EXPECT_EQ(windows.release, (std::vector<Nanos>{0, 8, 5, 13}));
  EXPECT_EQ(windows.due, (std::vector<Nanos>{6, 14, 9, 17}));
  Windows tight(chains, 15);
  EXPECT_FALSE(sweep.run(chains, chains.machines[0], orders, alive, tight));
}

TEST(Search, ADeadlineBelowTheOptimumIsRefusedAndTheOptimumIsMet) {
  const Pipeline pipeline = make_chain({5, 5}, {6, 6}, {4, 4}, 1, 3);
  auto search = Search::make(make_chains(pipeline), 1000);
  ASSERT_TRUE(search);
  Nanos shortest = 0;
  while (!search->may_end_by(shortest)) ++shortest;
  for (const bool looks_ahead : {false, true}) {
    Schedule schedule;
    std::int64_t tried = 0;
    const Effort effort{1000, 1000, 0, looks_ahead};
    EXPECT_EQ(search->find(shortest - 1, effort, schedule, tried), Answer::kNone);
    ASSERT_EQ(search->find(shortest, effort, schedule, tried), Answer::kFound);
    EXPECT_EQ(simulate(pipeline, schedule)->makespan, shortest);
    EXPECT_GT(tried, 0);
  }
}

TEST(Search, EffortIsALimit) {
  const Pipeline pipeline = make_chain({5, 5, 5}, {6, 6, 6}, {4, 4, 4}, 1, 6);
  auto search = Search::make(make_chains(pipeline), 1000);
  Schedule schedule;
  std::int64_t tried = 0;
  EXPECT_EQ(search->find(1000, {2, 100, 0, false}, schedule, tried), Answer::kUnknown);
  EXPECT_LE(tried, 4);
  search->stop_when([] { return true; });
  EXPECT_EQ(search->find(1000, {1000, 100, 0, false}, schedule, tried), Answer::kUnknown);
}

/// The search remembers what it has ruled out for later deadlines, and uses it for earlier
/// deadlines. This must not change answers.
TEST(Search, AnswersDoNotDependOnWhatWasAskedBefore) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    RandomShape shape;
    shape.stages = shape.devices = 2 + round % 3;
    shape.micro_batches = 2 + round % 4;
    shape.capacity = round % 2 == 0 ? 0 : 2;
    const Chains chains = make_chains(random_pipeline(shape, random));
    auto asked = Search::make(chains, 5000);
    ASSERT_TRUE(asked);
    ASSERT_TRUE(asked->may_end_by(1000));
    for (Nanos deadline = 200; deadline > 0; deadline -= 7) {
      auto fresh = Search::make(chains, 5000);
      EXPECT_EQ(asked->may_end_by(deadline), fresh->may_end_by(deadline)) << deadline;
      Schedule one, other;
      std::int64_t tried = 0, tried_fresh = 0;
      const Effort effort{200, 50, 0, false};
      EXPECT_EQ(asked->find(deadline, effort, one, tried),
                fresh->find(deadline, effort, other, tried_fresh));
      EXPECT_EQ(one, other);
      EXPECT_EQ(tried, tried_fresh);
    }
  }
}

TEST(Search, VisitsAreALimit) {
  std::mt19937 random(5);
  RandomShape shape;
  shape.stages = shape.devices = 4;
  shape.micro_batches = 8;
  const Pipeline pipeline = random_pipeline(shape, random);
  auto search = Search::make(make_chains(pipeline), 5000);
  ASSERT_TRUE(search);
  const std::int64_t made = search->visited();
  search->limit_visits(10);
  // A search that may visit almost no edges must not rule out anything.
  EXPECT_TRUE(search->may_end_by(1'000'000));
  const std::int64_t once = search->visited();
  EXPECT_LE(once - made, 4 * 5000);
  Schedule schedule;
  std::int64_t tried = 0;
  EXPECT_EQ(search->find(1'000'000, {1000, 1000, 0, false}, schedule, tried), Answer::kUnknown);
  EXPECT_EQ(search->visited(), once);
}

TEST(Orders, CorridorsWithTooManyStatesAreRefused) {
  const Chains chains = make_chains(brackets(4, 4));
  const std::vector<std::size_t> path{0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_TRUE(Orders::corridor(chains, chains.machines[0], path, 1, 1000));
  EXPECT_FALSE(Orders::corridor(chains, chains.machines[0], path, 1, 4));
}

}  // namespace
}  // namespace weft::pipeline
