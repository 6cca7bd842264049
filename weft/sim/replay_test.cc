// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/replay.h"

#include <gtest/gtest.h>

#include "weft/base/check.h"
#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"
#include "weft/sim/naive.h"
#include "weft/sim/timeline.h"

namespace weft::sim {
namespace {

using graph::Graph;
using graph::OpId;
using graph::RandomGraph;

Graph parse(std::string_view text) {
  auto parsed = graph::parse_text(text);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return *std::move(parsed);
}

std::vector<Nanos> starts(const Replay& replay) {
  return {replay.starts().begin(), replay.starts().end()};
}

/// Returns the start of every op, in the order of the text.
std::vector<Nanos> starts_of(std::string_view text) {
  const Graph graph = parse(text);
  Replay replay(graph);
  replay.run();
  return starts(replay);
}

void expect_same_as_naive(const Graph& graph, const Replay& replay) {
  const NaiveTimes naive = simulate_naively(graph);
  for (OpId op = 0; op < graph.size(); ++op) {
    ASSERT_EQ(replay.start(op), naive.start[op]) << "op " << op;
    ASSERT_EQ(replay.end(op), naive.end[op]) << "op " << op;
  }
}

TEST(Replay, AnEmptyGraphTakesNoTime) {
  const Graph graph;
  Replay replay(graph);
  replay.run();
  EXPECT_EQ(replay.makespan(), 0);
  EXPECT_EQ(replay.update(), 0u);
  EXPECT_TRUE(simulate_naively(graph).start.empty());
}

TEST(Replay, ALaneRunsInOrderWithItsGaps) {
  EXPECT_EQ(starts_of(R"(
    lane s stream 0
    a: kernel s 10ns
    b: kernel s 5ns after a+3ns
    c: kernel s 0 after b
    d: kernel s 1ns after c
  )"),
            (std::vector<Nanos>{0, 13, 18, 18}));
}

TEST(Replay, AKernelStartsWhenLaunchedAndItsStreamIsFree) {
  EXPECT_EQ(starts_of(R"(
    lane h host 0
    lane s stream 0
    a: launch h 2ns
    k: kernel s 100ns after a+4ns:launch
    b: launch h 2ns after a
    l: kernel s 10ns after b+4ns:launch, k
    c: launch h 200ns after b
    m: kernel s 10ns after c+4ns:launch, l
  )"),
            (std::vector<Nanos>{0, 6, 2, 106, 4, 208}));
}

TEST(Replay, ABlockingCallReturnsWhenTheDeviceIsDone) {
  EXPECT_EQ(starts_of(R"(
    lane h host 0
    lane s stream 0
    a: launch h 2ns
    k: kernel s 100ns after a:launch
    call: host h 1ns after a
    return: sync h 3ns after call, k+2ns:host_sync
    next: host h 1ns after return
  )"),
            (std::vector<Nanos>{0, 2, 2, 104, 107}));
}

TEST(Replay, AStreamWaitsForAnEventOfAnother) {
  EXPECT_EQ(starts_of(R"(
    lane s stream 0
    lane q stream 0
    a: kernel s 50ns
    b: kernel q 10ns
    c: kernel q 10ns after b, a:event_wait
  )"),
            (std::vector<Nanos>{0, 0, 50}));
}

constexpr std::string_view kTwoRanks = R"(
    lane r0 stream 0
    lane r1 stream 1
    lane net link -
    a: kernel r0 10ns
    b: kernel r1 70ns
    x: arrive r0 0 after a
    y: arrive r1 0 after b
    t: transfer net 20ns after x:collective, y:collective
    c: kernel r0 1ns after x, t:collective
    d: kernel r1 1ns after y, t+5ns:collective
    all: collective allreduce ranks=2 transfer=t arrivals=x,y
)";

TEST(Replay, CollectiveStartsWhenItsLastMemberArrivesAndEndsForAll) {
  EXPECT_EQ(starts_of(kTwoRanks), (std::vector<Nanos>{0, 0, 10, 70, 70, 90, 95}));
}

TEST(Replay, MakespanIsTheLatestEnd) {
  const Graph graph = parse(R"(
    lane s stream 0
    a: kernel s 90ns
    b: kernel s 10ns
    c: kernel s 5ns after b
  )");
  Replay replay(graph);
  replay.run();
  EXPECT_EQ(replay.makespan(), 90);
}

TEST(Replay, UpdateVisitsOnlyWhatChanged) {
  const Graph graph = parse(kTwoRanks);
  Replay replay(graph);
  replay.run();
  replay.set_duration(0, 30);  // r0 still arrives before r1
  EXPECT_EQ(replay.update(), 2u);
  EXPECT_EQ(starts(replay), (std::vector<Nanos>{0, 0, 30, 70, 70, 90, 95}));
  replay.set_duration(0, 80);  // now r0 is the last
  EXPECT_EQ(replay.update(), 5u);
  EXPECT_EQ(starts(replay), (std::vector<Nanos>{0, 0, 80, 70, 80, 100, 105}));
  EXPECT_EQ(replay.update(), 0u);
}

TEST(Replay, AChangedDelayMovesTheOpBehindIt) {
  const Graph graph = parse(kTwoRanks);
  Replay replay(graph);
  replay.run();
  for (graph::EdgeId e = 0; e < graph.edges.size(); ++e) {
    if (graph.edges[e].delay == 5) replay.set_delay(e, 0);
  }
  EXPECT_EQ(replay.update(), 1u);
  EXPECT_EQ(replay.start(6), 90);
}

TEST(Replay, TheFirstUpdateIsAFullSweep) {
  const Graph graph = parse(kTwoRanks);
  Replay replay(graph);
  EXPECT_EQ(replay.update(), graph.size());
  EXPECT_EQ(replay.makespan(), 96);
}

TEST(Replay, ThrowsOnInvalidArguments) {
  const Graph graph = parse(kTwoRanks);
  Replay replay(graph);
  EXPECT_THROW(replay.set_duration(0, -1), InternalError);
  EXPECT_THROW(replay.set_delay(0, -1), InternalError);
  EXPECT_THROW(replay.set_duration(99, 1), InternalError);
  EXPECT_THROW(replay.rollback(), InternalError);
}

TEST(Replay, AgreesWithTheNaiveSimulatorOnMadeJobs) {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.job(4, static_cast<int>(random.pick(0, 60)));
    ASSERT_TRUE(graph::verify(graph)) << graph::verify(graph).error().text();
    Replay replay(graph);
    replay.run();
    expect_same_as_naive(graph, replay);
    if (HasFatalFailure()) FAIL() << "seed " << seed << "\n" << graph::print_text(graph);
  }
}

TEST(Replay, AgreesWithTheNaiveSimulatorOnAnyAcyclicGraph) {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.tangle(static_cast<int>(random.pick(0, 40)));
    Replay replay(graph);
    replay.run();
    expect_same_as_naive(graph, replay);
    if (HasFatalFailure()) FAIL() << "seed " << seed << "\n" << graph::print_text(graph);
  }
}

TEST(Replay, UpdatesGiveWhatAFullSweepGives) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    const Graph graph = seed % 2 ? random.job(4, 300) : random.tangle(300);
    Replay updated(graph);
    updated.run();
    Replay swept(graph);
    for (int change = 0; change < 30; ++change) {
      for (std::int64_t i = random.pick(1, 4); i > 0; --i) {
        const auto op = static_cast<OpId>(random.pick(0, std::ssize(graph.ops.kind) - 1));
        const Nanos duration = random.time();
        updated.set_duration(op, duration);
        swept.set_duration(op, duration);
        const auto edge = static_cast<graph::EdgeId>(random.pick(0, std::ssize(graph.edges) - 1));
        const Nanos delay = random.delay();
        updated.set_delay(edge, delay);
        swept.set_delay(edge, delay);
      }
      updated.update();
      swept.run();
      ASSERT_EQ(starts(updated), starts(swept)) << "seed " << seed << " change " << change;
      ASSERT_EQ(updated.makespan(), swept.makespan());
      ASSERT_EQ(swept.makespan(), *std::max_element(swept.ends().begin(), swept.ends().end()));
    }
  }
}

TEST(Replay, RollbackUndoesEverythingSinceTheCheckpoint) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.job(3, 200);
    Replay replay(graph);
    replay.checkpoint();
    const std::vector<Nanos> before = starts(replay);
    for (int change = 0; change < 5; ++change) {
      for (int i = 0; i < 4; ++i) {
        replay.set_duration(static_cast<OpId>(random.pick(0, 199)), random.time());
        replay.set_delay(static_cast<graph::EdgeId>(random.pick(0, std::ssize(graph.edges) - 1)),
                         random.delay());
        if (i == 1) replay.update();
        if (i == 2) replay.run();
      }
      replay.rollback();
      ASSERT_EQ(starts(replay), before) << "seed " << seed;
      ASSERT_EQ(replay.update(), 0u);
      for (OpId op = 0; op < graph.size(); ++op) {
        ASSERT_EQ(replay.duration(op), graph.ops.duration[op]);
      }
    }
    expect_same_as_naive(graph, replay);
  }
}

TEST(Timeline, SpansAreOrderedByLaneThenStart) {
  const Graph graph = parse(kTwoRanks);
  Replay replay(graph);
  replay.run();
  std::vector<OpId> order;
  for (const Span& span : timeline(replay)) {
    order.push_back(span.op);
    EXPECT_EQ(span.lane, graph.ops.lane[span.op]);
    EXPECT_EQ(span.end - span.start, graph.ops.duration[span.op]);
  }
  EXPECT_EQ(order, (std::vector<OpId>{0, 2, 5, 1, 3, 6, 4}));
}

}  // namespace
}  // namespace weft::sim
