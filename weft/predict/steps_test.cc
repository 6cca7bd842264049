// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/steps.h"

#include <gtest/gtest.h>

#include "weft/graph/plain_replay.h"
#include "weft/graph/text.h"

namespace weft::predict {
namespace {

using Periods = std::vector<std::vector<Nanos>>;

graph::Graph parse(std::string_view text) {
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

TEST(Steps, StepLastsFromTheEndOfTheStepBeforeOnTheDevice) {
  // The host is done with both steps before the device has begun the first one.
  const graph::Graph graph = parse(R"(
    lane cpu host 0
    lane s stream 0
    b: kernel s 10us at=0 took=10us
    step 3
    l3: launch cpu 1us at=1us took=1us
    k3: kernel s 10us at=15us took=10us after b+5us, l3:launch
    step 4
    l4: launch cpu 1us at=2us took=1us after l3
    k4: kernel s 20us at=30us took=20us after k3+5us, l4:launch
  )");
  const StepTimes times = recorded_steps(graph);
  EXPECT_EQ(times.steps, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(times.ranks, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(times.period, (Periods{{15'000, 25'000}}));
  EXPECT_EQ(times.mean(0), 20'000);
  EXPECT_EQ(replayed_steps(graph, graph::plain_ends(graph)).period, times.period);
}

TEST(Steps, FirstStepWithoutWorkBeforeItCountsFromItsMark) {
  const graph::Graph graph = parse(R"(
    lane cpu host 0
    lane s stream 0
    step 3
    m: host cpu 0 "step" at=4us took=0
    k3: kernel s 10us at=15us took=10us after m+11us:launch
  )");
  EXPECT_EQ(recorded_steps(graph).period, (Periods{{21'000}}));
}

TEST(Steps, CollectiveIsOverWhenItsTransferIs) {
  const graph::Graph graph = parse(R"(
    lane a stream 0
    lane b stream 1
    lane net link -
    step 1
    x: arrive a 0 at=0 took=60us
    y: arrive b 0 at=20us took=40us
    t: transfer net 40us at=20us took=40us after x:collective, y+20us:collective
    c: collective allreduce ranks=2 bytes=64 transfer=t arrivals=x,y
  )");
  const StepTimes replayed = replayed_steps(graph, graph::plain_ends(graph));
  EXPECT_EQ(replayed.end, (Periods{{60'000}, {60'000}}));
}

TEST(Steps, RankWithoutDeviceIsTimedOnItsHost) {
  const graph::Graph graph = parse(R"(
    lane cpu host 0
    step 1
    a: host cpu 10us at=0 took=10us
    step 2
    b: host cpu 30us at=15us took=30us after a+5us
  )");
  const StepTimes times = recorded_steps(graph);
  EXPECT_EQ(times.period[0][1], 35'000);
}

TEST(Steps, RankWithoutWorkInAStepHasNoTimeForIt) {
  const graph::Graph graph = parse(R"(
    lane a stream 0
    lane b stream 1
    step 1
    a1: kernel a 10us at=0 took=10us
    b1: kernel b 30us at=0 took=30us
    step 2
    a2: kernel a 10us at=10us took=10us after a1
  )");
  const StepTimes times = recorded_steps(graph);
  EXPECT_EQ(times.period[0][1], 10'000);
  EXPECT_EQ(times.period[1][1], -1);
  EXPECT_EQ(times.mean(1), times.period[1][0]);
  EXPECT_EQ(times.slowest_mean(), std::max(times.mean(0), times.mean(1)));
}

TEST(Steps, AnEmptyGraphTakesNoTime) {
  const StepTimes times = recorded_steps(graph::Graph());
  EXPECT_TRUE(times.ranks.empty());
  EXPECT_EQ(times.slowest_mean(), 0);
}

}  // namespace
}  // namespace weft::predict
