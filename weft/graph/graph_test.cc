// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "weft/graph/text.h"

namespace weft::graph {
namespace {

Graph two_rank_collective() {
  auto graph = parse_text(R"(
    lane r0/s stream 0
    lane r1/s stream 1
    lane net link -
    step 3
    x: arrive r0/s 0
    y: arrive r1/s 0
    t: transfer net 10us after x:collective, y:collective
    k: kernel r0/s 5us after t:collective
    c: collective allreduce ranks=2 bytes=64 transfer=t arrivals=x,y
  )");
  EXPECT_TRUE(graph) << graph.error().text();
  return *graph;
}

/// Breaks a valid graph and expects the error of verify() to contain `message`.
template <class Break>
void expect_broken(Break break_it, const std::string& message) {
  Graph graph = two_rank_collective();
  ASSERT_TRUE(verify(graph));
  break_it(graph);
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
}

TEST(Verify, AcceptsAnEmptyGraph) { EXPECT_TRUE(verify(Graph())); }

TEST(Verify, ColumnsHaveOneEntryPerOp) {
  expect_broken([](Graph& g) { g.ops.bytes.pop_back(); }, "column bytes has 3 entries, not 4");
}

TEST(Verify, LanesAndNamesExist) {
  expect_broken([](Graph& g) { g.ops.lane[1] = 3; }, "op 1 is on lane 3, but");
  expect_broken([](Graph& g) { g.ops.name[2] = 99; }, "op 2 has name id 99");
}

TEST(Verify, TimesAreNotNegative) {
  expect_broken([](Graph& g) { g.ops.duration[3] = -1; }, "op 3 lasts -1 ns");
  expect_broken([](Graph& g) { g.edges[0].delay = -5; }, "edge 0 -> 2 has a delay of -5 ns");
}

TEST(Verify, NoPathCanOverflow) {
  const Nanos huge = std::numeric_limits<Nanos>::max() / 2;
  expect_broken([&](Graph& g) { g.edges[0].delay = huge; }, "add up");
}

TEST(Verify, EdgesGoFromLowerToHigherIds) {
  expect_broken([](Graph& g) { g.edges[2].source = 3; }, "edge 3 -> 3 is against the order");
}

TEST(Verify, EdgeOffsetsSpanTheEdges) {
  expect_broken([](Graph& g) { g.first_edge.back() = 2; }, "does not cover");
  expect_broken([](Graph& g) { g.first_edge[1] = 4; }, "first_edge goes backwards at op 0");
}

TEST(Verify, StepsAreListedInOrder) {
  expect_broken([](Graph& g) { g.ops.step[0] = 4; }, "op 0 belongs to step 4");
  expect_broken([](Graph& g) { g.steps = {3, 3}; }, "step 3 follows step 3");
}

TEST(Verify, CollectivesAndTheirOpsPointAtEachOther) {
  expect_broken([](Graph& g) { g.ops.collective[0] = kNoId; }, "op 0 is not one of its arrivals");
  expect_broken([](Graph& g) { g.collectives[0].transfer = 3; }, "op 3 is not its transfer");
  expect_broken([](Graph& g) { g.ops.collective[3] = 7; }, "op 3 belongs to collective 7, but");
}

TEST(Verify, TransfersWaitForEveryArrival) {
  expect_broken([](Graph& g) { g.edges[0].source = 1; }, "transfer 2 does not wait for arrival 0");
}

}  // namespace
}  // namespace weft::graph
