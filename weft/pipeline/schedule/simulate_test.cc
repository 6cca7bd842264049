// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/schedule/families.h"

namespace weft::pipeline {
namespace {

/// The rules of simulate.h, applied literally: recomputes every time from all others until nothing
/// changes. It is slow and shares no code with the simulator.
Nanos naive_makespan(const Pipeline& pipeline, const Schedule& schedule) {
  using Key = std::tuple<int, char, int>;  // stage, letter, micro-batch
  std::map<Key, Nanos> end, arrival;
  Nanos last = 0;
  for (bool changed = true; changed;) {
    changed = false;
    const auto set = [&](std::map<Key, Nanos>& times, const Key& key, Nanos value) {
      Nanos& old = times[key];
      changed |= old != value;
      old = value;
    };
    for (const auto& order : schedule.orders) {
      Nanos free = 0;
      for (const Op& op : order) {
        Nanos start = free;
        if (op.kind == Kind::kForward) start = std::max(start, arrival[{op.stage, 'F', op.micro}]);
        if (op.kind == Kind::kWeight) start = std::max(start, end[{op.stage, 'B', op.micro}]);
        if (op.kind == Kind::kInput || op.kind == Kind::kBackward) {
          start =
              std::max({start, end[{op.stage, 'F', op.micro}], arrival[{op.stage, 'B', op.micro}]});
        }
        free = start + duration(pipeline.stages[op.stage], op.kind);
        const char what = op.kind == Kind::kForward ? 'F' : op.kind == Kind::kWeight ? 'W' : 'B';
        set(end, {op.stage, what, op.micro}, free);
      }
    }
    struct Ready {
      Nanos time;
      int boundary;
      bool backward;
      int micro;
    };
    std::vector<Ready> queue;
    const int boundaries = static_cast<int>(pipeline.boundaries.size());
    for (int s = 0; s <= boundaries; ++s) {
      Nanos gradients = 0;
      for (int m = 0; m < pipeline.micro_batches; ++m) {
        gradients = std::max({gradients, end[{s, 'B', m}], end[{s, 'W', m}]});
      }
      queue.push_back({gradients, boundaries + s, false, 0});  // all-reduces come after messages
    }
    for (int b = 0; b < boundaries; ++b) {
      for (int m = 0; m < pipeline.micro_batches; ++m) {
        queue.push_back({end[{b, 'F', m}], b, false, m});
        queue.push_back({end[{b + 1, 'B', m}], b, true, m});
      }
    }
    std::sort(queue.begin(), queue.end(), [](const Ready& x, const Ready& y) {
      return std::tie(x.time, x.boundary, x.backward, x.micro) <
             std::tie(y.time, y.boundary, y.backward, y.micro);
    });
    std::map<LinkId, Nanos> free;
    std::map<DeviceId, Nanos> reduced;
    last = 0;
    for (const auto& [key, time] : end) last = std::max(last, time);
    for (const Ready& ready : queue) {
      if (ready.boundary >= boundaries) {
        const Stage& stage = pipeline.stages[ready.boundary - boundaries];
        if (stage.all_reduce == 0) continue;
        Nanos done = ready.time;
        if (pipeline.reduces_in_turn) done = std::max(done, reduced[stage.device]);
        for (const LinkId link : stage.reduce_links) done = std::max(done, free[link]);
        done += stage.all_reduce;
        for (const LinkId link : stage.reduce_links) free[link] = done;
        last = std::max(last, reduced[stage.device] = done);
        continue;
      }
      const Boundary& boundary = pipeline.boundaries[ready.boundary];
      const Transfer& transfer = ready.backward ? boundary.backward : boundary.forward;
      Nanos start = ready.time;
      for (const LinkId link : transfer.links) start = std::max(start, free[link]);
      for (const LinkId link : transfer.links) free[link] = start + transfer.time;
      const Nanos there = start + transfer.time + transfer.latency;
      set(arrival,
          {ready.boundary + (ready.backward ? 0 : 1), ready.backward ? 'B' : 'F', ready.micro},
          there);
    }
  }
  return last;
}

TEST(Simulate, OneMicroBatchGoesThereAndBack) {
  const Pipeline pipeline = make_chain({5, 5}, {6, 6}, {4, 4}, 1, 1);
  const auto schedule = one_f_one_b(pipeline);
  const auto timeline = simulate(pipeline, *schedule);
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->ops[1][1], (Span{11, 21}));
  EXPECT_EQ(timeline->makespan, 5 + 1 + 5 + 10 + 1 + 10);
}

TEST(Simulate, ALinkServesOneTransferAtATime) {
  Pipeline pipeline = make_chain({1, 1}, {1, 1}, {0, 0}, 0, 3);
  pipeline.boundaries[0].forward = {10, 2, {0}};
  const auto timeline = simulate(pipeline, gpipe(pipeline));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->transfers[2].span, (Span{21, 31}));
  EXPECT_EQ(timeline->transfers[2].arrival, 33);
}

TEST(Simulate, TheAllReduceOfAStageFollowsItsLastGradient) {
  Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 1);
  pipeline.stages[1].all_reduce = 100;
  EXPECT_EQ(simulate(pipeline, gpipe(pipeline))->makespan, 4 + 100);
}

TEST(Simulate, MessagesWaitForAnAllReduceThatHoldsTheirLinks) {
  Pipeline pipeline = make_chain({1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, 1);
  for (Boundary& boundary : pipeline.boundaries) boundary.backward = {2, 0, {0}};
  pipeline.stages[2].all_reduce = 10;
  const auto beside = simulate(pipeline, gpipe(pipeline));
  EXPECT_EQ(beside->makespan, 4 + 10);
  // Now the all-reduce of stage 2 uses the same link as the messages. It is ready at 4, at the same
  // time as the gradient that stage 2 sends. The gradient goes first, then the all-reduce, and then
  // the next message.
  pipeline.stages[2].reduce_links = {0};
  const auto held = simulate(pipeline, gpipe(pipeline));
  EXPECT_EQ(held->transfers[3].span, (Span{4, 6}));
  EXPECT_EQ(held->transfers[1].span, (Span{16, 18}));
  EXPECT_EQ(held->makespan, 19);
}

TEST(Simulate, MemoryIsTakenAtTheStartOfAForwardAndFreedAtTheEndOfGradients) {
  Pipeline pipeline = make_chain({5}, {6}, {4}, 0, 2);
  pipeline.stages[0].forward_memory = 3;
  pipeline.stages[0].input_memory = -1;
  pipeline.stages[0].weight_memory = -2;
  pipeline.memory_limits = {5};
  const auto schedule = parse_schedule("0F0 0F1 0I0 0W0 0B1\n");
  const auto timeline = simulate(pipeline, *schedule);
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->peaks[0], 6);
  EXPECT_FALSE(fits(pipeline, *timeline));
  std::vector<std::pair<Nanos, Bytes>> curve;
  for (const MemoryStep& step : memory_curve(pipeline, *schedule, *timeline, 0)) {
    curve.emplace_back(step.time, step.held);
  }
  EXPECT_EQ(curve,
            (std::vector<std::pair<Nanos, Bytes>>{{0, 3}, {5, 6}, {16, 5}, {20, 3}, {30, 0}}));
}

TEST(Simulate, OrdersThatDeadlockAreAnError) {
  const Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 2);
  const auto schedule = parse_schedule("0F0 0B0 0F1 0B1\n1F0 1F1 1B0 1B1\n");
  const auto timeline = simulate(pipeline, *schedule);
  ASSERT_FALSE(timeline);
  EXPECT_NE(timeline.error().message.find("0B0 on device 0 can never start"), std::string::npos);
}

TEST(Simulate, ScheduleWithMissingRepeatedOrMisplacedOpsIsAnError) {
  const Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 1);
  for (const char* text : {"0F0 0B0\n1F0\n", "0F0 0B0 0F0\n1F0 1B0\n", "0F0 0B0 1F0\n1B0\n",
                           "0F0 0B0 0I0\n1F0 1B0\n", "0F0 0B0\n1F0 1B1\n", "0F0 0B0 1F0 1B0\n"}) {
    EXPECT_FALSE(simulate(pipeline, *parse_schedule(text))) << text;
  }
}

TEST(Simulate, AgreesWithTheNaiveSimulatorOnAnyFamilyPlacementAndSharingOfLinks) {
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 150; ++round) {
    RandomShape shape;
    shape.devices = 1 + static_cast<DeviceId>(random() % 4);
    shape.is_v = random() % 3 == 0;
    shape.stages =
        shape.is_v ? 2 * shape.devices : shape.devices * (1 + static_cast<StageId>(random() % 3));
    shape.micro_batches = 1 + static_cast<Micro>(random() % 9);
    shape.shared_links = static_cast<LinkId>(random() % 4);
    Pipeline pipeline = random_pipeline(shape, random);
    pipeline.reduces_in_turn = round % 2 == 1;
    for (Stage& stage : pipeline.stages) {
      for (LinkId link = 0; link < pipeline.links() && round % 3 == 0; ++link) {
        if (random() % 2 == 0) stage.reduce_links.push_back(link);
      }
    }
    // An op that takes no time ends together with the op before it, so their messages are ready at
    // the same time.
    for (Stage& stage : pipeline.stages) {
      if (round % 5 == 4 && random() % 2 == 0) stage.forward = stage.input = 0;
      if (round % 5 == 4 && random() % 3 == 0) stage.weight = 0;
    }
    ASSERT_TRUE(check(pipeline));
    for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe-v"}) {
      const auto schedule = family(name, pipeline);
      if (!schedule) continue;
      const auto timeline = simulate(pipeline, *schedule);
      ASSERT_TRUE(timeline) << name << ": " << timeline.error().text();
      EXPECT_EQ(timeline->makespan, naive_makespan(pipeline, *schedule)) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

/// Uses one simulator for all pipelines, as planners do.
TEST(Simulator, StopsAtTheLimit) {
  std::mt19937 random(23);
  Simulator simulator;
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    RandomShape shape;
    shape.stages = 2 + round % 5;
    shape.devices = round % 2 == 0 ? shape.stages : std::max(1, shape.stages / 2);
    shape.micro_batches = 1 + round % 7;
    shape.shared_links = round % 3 == 0 ? 2 : 0;
    const Pipeline pipeline = random_pipeline(shape, random);
    simulator.load(pipeline);
    for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1"}) {
      const auto schedule = family(name, pipeline);
      if (!schedule) continue;
      const Nanos makespan = simulate(pipeline, *schedule)->makespan;
      ASSERT_EQ(simulator.run(*schedule, makespan + 1), Simulator::End::kDone) << name;
      EXPECT_EQ(simulator.makespan(), makespan) << name;
      const std::int64_t all = simulator.ops();
      EXPECT_EQ(simulator.run(*schedule, makespan), Simulator::End::kTooLong) << name;
      EXPECT_EQ(simulator.run(*schedule, makespan / 2), Simulator::End::kTooLong) << name;
      EXPECT_LE(simulator.ops() - all, 2 * all);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Simulator, NamesTheOpThatIsStuck) {
  const Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 1);
  Simulator simulator;
  simulator.load(pipeline);
  // The first device waits for the gradient of a forward that comes later in its order.
  const Schedule schedule = *parse_schedule("0B0 0F0\n1F0 1B0\n");
  EXPECT_EQ(simulator.run(schedule, 1000), Simulator::End::kStuck);
  EXPECT_EQ(simulator.stuck(), (std::pair<DeviceId, std::size_t>{0, 0}));
}

}  // namespace
}  // namespace weft::pipeline
