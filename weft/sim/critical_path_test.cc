// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/critical_path.h"

#include <gtest/gtest.h>

#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"

namespace weft::sim {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;
using graph::RandomGraph;

std::vector<OpId> path_of(std::string_view text, OpId last = kNoId) {
  const auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  Replay replay(*graph);
  replay.run();
  std::vector<OpId> ops;
  for (const PathStep& step : critical_path(replay, last)) ops.push_back(step.op);
  return ops;
}

constexpr std::string_view kLateRank = R"(
    lane r0 stream 0
    lane r1 stream 1
    lane net link -
    a: kernel r0 10ns
    b: kernel r1 70ns
    x: arrive r0 0 after a
    y: arrive r1 0 after b
    t: transfer net 20ns after x:collective, y:collective
    c: kernel r0 9ns after t:collective
    d: kernel r1 1ns after t:collective
    all: collective allreduce ranks=2 transfer=t arrivals=x,y
)";

TEST(CriticalPath, GoesThroughTheLateRankOfACollective) {
  EXPECT_EQ(path_of(kLateRank), (std::vector<OpId>{1, 3, 4, 5}));
}

TEST(CriticalPath, CanEndAtAnyOp) {
  EXPECT_EQ(path_of(kLateRank, 6), (std::vector<OpId>{1, 3, 4, 6}));
  EXPECT_EQ(path_of(kLateRank, 2), (std::vector<OpId>{0, 2}));
}

TEST(CriticalPath, TiesGoToTheLowestId) {
  EXPECT_EQ(path_of(R"(
    lane s stream 0
    a: kernel s 10ns
    b: kernel s 10ns
    c: kernel s 5ns after b, a
    d: kernel s 5ns after b
  )"),
            (std::vector<OpId>{0, 2}));
}

TEST(CriticalPath, OfNothingIsEmpty) { EXPECT_TRUE(path_of("").empty()); }

/// Returns the length of the longest chain that ends with `op`. Tries every chain.
Nanos longest_chain(const Graph& graph, OpId op) {
  Nanos longest = 0;
  for (const graph::Edge& edge : graph.in_edges(op)) {
    longest = std::max(longest, longest_chain(graph, edge.source) + edge.delay);
  }
  return longest + graph.ops.duration[op];
}

TEST(CriticalPath, IsAChainOfEdgesAsLongAsTheLongestOne) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RandomGraph random(seed);
    const int size = static_cast<int>(random.pick(1, 16));
    const Graph graph = seed % 2 ? random.job(3, size) : random.tangle(size);
    Replay replay(graph);
    replay.run();
    Nanos longest = 0;
    for (OpId op = 0; op < graph.size(); ++op)
      longest = std::max(longest, longest_chain(graph, op));

    Nanos length = 0;
    OpId previous = kNoId;
    for (const auto& [op, edge] : critical_path(replay)) {
      ASSERT_EQ(edge == kNoId, previous == kNoId);
      if (edge != kNoId) {
        ASSERT_TRUE(graph.first_edge[op] <= edge && edge < graph.first_edge[op + 1]);
        ASSERT_EQ(graph.edges[edge].source, previous);
        length += graph.edges[edge].delay;
      }
      length += graph.ops.duration[op];
      ASSERT_EQ(replay.end(op), length) << "an op on the path waited for an op that is not on it";
      previous = op;
    }
    ASSERT_EQ(length, longest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::sim
