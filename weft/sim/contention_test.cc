// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/contention.h"

#include <gtest/gtest.h>

#include "weft/base/check.h"
#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"
#include "weft/sim/naive.h"

namespace weft::sim {
namespace {

using graph::Graph;
using graph::OpId;
using graph::OpKind;
using graph::RandomGraph;

Graph parse(std::string_view text) {
  auto parsed = graph::parse_text(text);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return *std::move(parsed);
}

/// Returns the end of every op. Collectives slow every kernel by the factor `slowdown`.
std::vector<Nanos> ends_of(std::string_view text, double slowdown) {
  const Graph graph = parse(text);
  std::vector<double> slowdowns(graph.size(), 1.0);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] == OpKind::kKernel) slowdowns[op] = slowdown;
  }
  Replay replay(graph);
  EXPECT_TRUE(Contention(graph, slowdowns).settle(replay, graph.ops.duration).converged);
  return {replay.ends().begin(), replay.ends().end()};
}

// Returns a graph in text form with a collective that is resident from 100 to 200 ns on both ranks.
// `kernel` is the line of the kernel under test, which is op 4.
std::string beside_collective(const std::string& kernel) {
  return R"(
    lane r0 stream 0
    lane c0 stream 0
    lane r1 stream 1
    lane c1 stream 1
    lane net link -
    before: kernel c0 100ns
    x: arrive c0 0 after before
    y: arrive c1 0 after before
    t: transfer net 100ns after x:collective, y:collective
    all: collective allreduce ranks=2 transfer=t arrivals=x,y
  )" + kernel;
}

TEST(Contention, WorkOutsideTheCollectiveKeepsItsLength) {
  EXPECT_EQ(ends_of(beside_collective("k: kernel r0 100ns"), 2.0)[4], 100);
  EXPECT_EQ(ends_of(beside_collective("k: kernel r0 50ns after t"), 2.0)[4], 250);
}

TEST(Contention, WorkInsideTheCollectiveTakesLonger) {
  EXPECT_EQ(ends_of(beside_collective("k: kernel r1 30ns after x"), 2.0)[4], 160);
}

TEST(Contention, WorkThatOverlapsInPartIsSlowedInPart) {
  // 100 ns of work before the collective, 50 ns in the 100 ns beside it, the last 10 ns after it.
  EXPECT_EQ(ends_of(beside_collective("k: kernel r0 160ns"), 2.0)[4], 210);
  // 40 ns of work in the 100 ns beside the collective, then the remaining 10 ns.
  EXPECT_EQ(ends_of(beside_collective("k: kernel r0 50ns after x"), 2.5)[4], 210);
}

TEST(Contention, AMemberIsResidentFromItsArrivalOn) {
  EXPECT_EQ(ends_of(R"(
    lane r0 stream 0
    lane c0 stream 0
    lane c1 stream 1
    lane net link -
    x: arrive c0 0
    late: host c1 100ns
    y: arrive c1 0 after late
    t: transfer net 10ns after x:collective, y:collective
    k: kernel r0 20ns after x
    all: collective allreduce ranks=2 transfer=t arrivals=x,y
  )",
                    3.0)[4],
            60);
}

TEST(Contention, CollectivesOfOtherRanksDoNotSlow) {
  EXPECT_EQ(ends_of(R"(
    lane r0 stream 0
    lane c1 stream 1
    lane net link -
    x: arrive c1 0
    t: transfer net 100ns after x:collective
    k: kernel r0 20ns
    all: collective allreduce ranks=1 transfer=t arrivals=x
  )",
                    3.0)[2],
            20);
}

TEST(Contention, TransfersAreNotSlowedAndOverlappingCollectivesSlowOnce) {
  EXPECT_EQ(ends_of(R"(
    lane r0 stream 0
    lane c stream 0
    lane d stream 0
    lane n1 link -
    lane n2 link -
    x: arrive c 0
    y: arrive d 10ns
    t: transfer n1 100ns after x:collective
    u: transfer n2 100ns after y:collective
    k: kernel r0 100ns
    one: collective allreduce ranks=1 transfer=t arrivals=x
    two: collective allgather ranks=1 transfer=u arrivals=y
  )",
                    2.0),
            (std::vector<Nanos>{0, 10, 100, 110, 155}));
}

// A slowed kernel delays the arrival of the second collective, which slows a kernel in its turn.
TEST(Contention, SlowedComputeDelaysLaterCollectives) {
  EXPECT_EQ(ends_of(R"(
    lane s stream 0
    lane c stream 0
    lane net link -
    x: arrive c 0
    t: transfer net 60ns after x:collective
    k: kernel s 50ns
    l: kernel s 20ns after k
    y: arrive c 0 after t, k:event_wait
    u: transfer net 60ns after y:collective
    one: collective allreduce ranks=1 transfer=t arrivals=x
    two: collective allreduce ranks=1 transfer=u arrivals=y
  )",
                    2.0),
            (std::vector<Nanos>{0, 60, 80, 120, 80, 140}));
}

TEST(Contention, AgreesWithTheNaiveSimulator) {
  std::int64_t ops = 0, off_by_one = 0;
  int most_rounds = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.job(4, static_cast<int>(random.pick(0, 60)));
    const std::vector<double> slowdown = random.slowdowns(graph.size());
    Replay replay(graph);
    const ContentionResult result = Contention(graph, slowdown).settle(replay, graph.ops.duration);
    ASSERT_TRUE(result.converged) << "seed " << seed;
    most_rounds = std::max(most_rounds, result.rounds);
    const NaiveTimes naive = simulate_naively(graph, slowdown);
    for (OpId op = 0; op < graph.size(); ++op) {
      ASSERT_LE(std::abs(replay.start(op) - naive.start[op]), 3) << "op " << op << " seed " << seed;
      ASSERT_LE(std::abs(replay.end(op) - naive.end[op]), 3) << "op " << op << " seed " << seed;
      ++ops;
      off_by_one += replay.end(op) != naive.end[op];
    }
  }
  // The two simulators round an end to the nearest nanosecond by the same rule. But they add up
  // fractions in different orders. So their ends differ only if one sum is rounded up and the other
  // is rounded down.
  EXPECT_LE(off_by_one, ops / 10000);
  RecordProperty("most_rounds", most_rounds);
}

TEST(Contention, TheResultDoesNotDependOnWhereItStartsFrom) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.job(4, 200);
    Contention contention(graph, random.slowdowns(graph.size()));
    Replay cold(graph);
    contention.settle(cold, graph.ops.duration);
    Replay warm(graph);
    for (OpId op = 0; op < graph.size(); ++op) warm.set_duration(op, random.time());
    ASSERT_TRUE(contention.settle(warm, graph.ops.duration).converged);
    for (OpId op = 0; op < graph.size(); ++op) ASSERT_EQ(cold.end(op), warm.end(op));
    EXPECT_EQ(contention.settle(warm, graph.ops.duration).rounds, 1);
  }
}

TEST(Contention, EventDrivenPassGivesTheSameTimes) {
  ContentionOptions no_rounds;
  no_rounds.max_rounds = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.job(4, static_cast<int>(random.pick(0, 100)));
    Contention contention(graph, random.slowdowns(graph.size()));
    Replay by_rounds(graph);
    ASSERT_FALSE(contention.settle(by_rounds, graph.ops.duration).by_events) << "seed " << seed;
    Replay by_events(graph);
    const auto result = contention.settle(by_events, graph.ops.duration, no_rounds);
    ASSERT_TRUE(result.by_events);
    ASSERT_TRUE(result.converged) << "seed " << seed << " " << result.last_change;
    for (OpId op = 0; op < graph.size(); ++op) ASSERT_EQ(by_rounds.end(op), by_events.end(op));
  }
}

// Each round makes a longer prefix of the timeline exact. With strong slowdowns on many ranks, this
// prefix grows too slowly.
TEST(Contention, UsesTheEventDrivenPassIfRoundsAreNotEnough) {
  RandomGraph random(100008);
  const Graph graph = random.job(8, 100000);
  Contention contention(graph, std::vector<double>(graph.size(), 3.0));
  Replay replay(graph);
  const auto result = contention.settle(replay, graph.ops.duration);
  EXPECT_TRUE(result.by_events);
  EXPECT_TRUE(result.converged) << result.last_change;
}

TEST(Contention, RefusesSlowdownsThatDoNotFitTheGraph) {
  const Graph graph = parse("lane s stream 0\nk: kernel s 1us");
  EXPECT_THROW(Contention(graph, std::vector<double>{}), InternalError);
  EXPECT_THROW(Contention(graph, std::vector<double>{0.0}), InternalError);
}

}  // namespace
}  // namespace weft::sim
