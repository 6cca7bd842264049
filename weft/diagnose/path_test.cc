// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/path.h"

#include <gtest/gtest.h>

#include <functional>

#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"

namespace weft::diagnose {
namespace {

predict::Job job_of(std::string_view text) {
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  predict::Job job;
  if (graph) job.graph = std::move(*graph);
  return job;
}

/// Returns the length of the longest chain of ops. Tries every chain.
Nanos longest_chain(const graph::Graph& graph) {
  std::function<Nanos(graph::OpId)> up_to = [&](graph::OpId op) {
    Nanos longest = 0;
    for (const graph::Edge& edge : graph.in_edges(op)) {
      longest = std::max(longest, up_to(edge.source) + edge.delay);
    }
    return longest + graph.ops.duration[op];
  };
  Nanos longest = 0;
  for (graph::OpId op = 0; op < graph.size(); ++op) longest = std::max(longest, up_to(op));
  return longest;
}

TEST(Path, IsTheLongestOfAllChains) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    predict::Job job;
    job.graph = graph::RandomGraph(seed).job(3, 24);
    const CriticalPath path = find_critical_path(job);
    EXPECT_EQ(path.length, longest_chain(job.graph));
    Nanos at = 0, by_rank = 0, by_cause = 0;
    for (const PathPiece& piece : path.pieces) {
      EXPECT_EQ(piece.start, at);
      EXPECT_GT(piece.end, piece.start);
      at = piece.end;
    }
    for (const auto& [rank, time] : path.by_rank) by_rank += time;
    for (const Nanos time : path.by_cause) by_cause += time;
    EXPECT_EQ(at, path.length);
    EXPECT_EQ(by_rank, path.length);
    EXPECT_EQ(by_cause, path.length);
  }
}

// The host of rank 1 launches its kernel late, so rank 0 has to wait.
constexpr const char* kLateRank = R"(
  lane h0 host 0
  lane h1 host 1
  lane r0/s stream 0
  lane r1/s stream 1
  lane net link -
  step 7
  s0: host h0 0 "step"
  s1: host h1 0 "step"
  a: kernel r0/s 10us
  l: launch h1 40us after s1
  b: kernel r1/s 30us after l+2us:launch
  x: arrive r0/s 0 after a
  y: arrive r1/s 0 after b
  t: transfer net 20us after x:collective, y:collective
  c: copy r0/s 9us after t:collective
  d: kernel r1/s 1us after t:collective
  all: collective allreduce ranks=2 transfer=t arrivals=x,y
)";

TEST(Path, ATransferBelongsToTheRankThatArrivedLast) {
  const CriticalPath path = find_critical_path(job_of(kLateRank));
  EXPECT_EQ(path.main_rank(), 1);
  EXPECT_EQ(path.by_rank.at(1), 92'000);
  EXPECT_EQ(path.by_rank.at(0), 9'000);
}

TEST(Path, EveryPieceHasItsCause) {
  const CriticalPath path = find_critical_path(job_of(kLateRank));
  const auto time = [&](Cause cause) { return path.by_cause[static_cast<std::size_t>(cause)]; };
  EXPECT_EQ(time(Cause::kHostLaunch), 42'000);
  EXPECT_EQ(time(Cause::kCompute), 30'000);
  EXPECT_EQ(time(Cause::kTransfer), 20'000);
  EXPECT_EQ(time(Cause::kMemoryCopy), 9'000);
  EXPECT_EQ(time(Cause::kWaiting), 0) << "a critical path contains no waiting";
}

TEST(Path, IsEmptyForAnEmptyJob) {
  const CriticalPath path = find_critical_path(predict::Job{});
  EXPECT_TRUE(path.pieces.empty());
  EXPECT_EQ(path.main_rank(), -1);
}

}  // namespace
}  // namespace weft::diagnose
