// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/builder.h"

#include <gtest/gtest.h>

#include "weft/base/check.h"
#include "weft/graph/text.h"

namespace weft::graph {
namespace {

OpId add_kernel(GraphBuilder& builder, std::string_view name, Nanos recorded_start = -1) {
  OpSpec spec;
  spec.name = name;
  spec.recorded_start = recorded_start;
  return builder.add_op(spec);
}

std::string names_in_order(const Graph& graph) {
  std::string names;
  for (OpId op = 0; op < graph.size(); ++op) names += graph.name(op);
  return names;
}

TEST(GraphBuilder, EdgesOrderTheOps) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  const OpId a = add_kernel(builder, "a");
  const OpId b = add_kernel(builder, "b");
  builder.add_edge(b, a, EdgeKind::kOrder, 3);
  std::vector<OpId> new_ids;
  const auto graph = std::move(builder).finish(&new_ids);
  ASSERT_TRUE(graph);
  EXPECT_EQ(names_in_order(*graph), "ba");
  EXPECT_EQ(new_ids, (std::vector<OpId>{1, 0}));
  ASSERT_EQ(graph->in_edges(1).size(), 1u);
  EXPECT_EQ(graph->in_edges(1)[0].source, 0u);
  EXPECT_EQ(graph->in_edges(1)[0].delay, 3);
  EXPECT_TRUE(verify(*graph));
}

TEST(GraphBuilder, TieBreaksAreRecordedStartThenId) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  add_kernel(builder, "c", 30);
  add_kernel(builder, "a", 10);
  add_kernel(builder, "d", 30);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(names_in_order(*graph), "acd");
}

TEST(GraphBuilder, AnOpWithoutRecordedStartComesRightAfterItsPredecessor) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  const OpId b = add_kernel(builder, "b", 20);
  const OpId made = add_kernel(builder, "m");
  add_kernel(builder, "a", 10);
  builder.add_edge(b, made, EdgeKind::kOrder);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(names_in_order(*graph), "abm");
}

TEST(GraphBuilder, ACycleIsAnErrorThatNamesItsOpsOnly) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  const OpId a = add_kernel(builder, "before");
  const OpId b = add_kernel(builder, "one");
  const OpId c = add_kernel(builder, "two");
  const OpId d = add_kernel(builder, "behind");
  builder.add_edge(a, b, EdgeKind::kOrder);
  builder.add_edge(b, c, EdgeKind::kOrder);
  builder.add_edge(c, b, EdgeKind::kData);
  builder.add_edge(c, d, EdgeKind::kOrder);
  const auto graph = std::move(builder).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message,
            "2 ops wait for each other in a cycle: 2 \"two\" -> 1 \"one\" -> 2");
}

TEST(GraphBuilder, RemovedOpsTakeTheirEdgesWithThem) {
  const auto before = parse_text(R"(
    lane s stream 0
    lane net link -
    a: kernel s 1us
    x: arrive s 0 after a
    y: arrive s 0 after a
    t: transfer net 2us after x:collective, y:collective
    b: kernel s 1us after t:collective, a+7ns
    c: collective allreduce ranks=2 transfer=t arrivals=x,y
  )");
  ASSERT_TRUE(before) << before.error().text();
  GraphBuilder builder(*before);
  builder.remove_op(2);
  builder.remove_op(3);
  std::vector<OpId> new_ids;
  const auto after = std::move(builder).finish(&new_ids);
  ASSERT_TRUE(after);
  EXPECT_EQ(new_ids, (std::vector<OpId>{0, 1, kNoId, kNoId, 2}));
  EXPECT_TRUE(verify(*after));
  EXPECT_EQ(print_text(*after),
            "lane s stream 0\n"
            "lane net link -\n"
            "o0: kernel s 1us\n"
            "o1: arrive s 0 after o0\n"
            "o2: kernel s 1us after o0+7ns\n"
            "c0: collective allreduce ranks=2 arrivals=o1\n");
}

TEST(GraphBuilder, ACopyThatIsNotChangedComesOutTheSame) {
  const auto before = parse_text(R"(
    lane s stream 0
    step 1
    b: kernel s 1us "b" at=20us
    a: kernel s 1us "a" at=10us after b?
    c: kernel s 1us "c" at=15us after b:data, a+1ns
  )");
  ASSERT_TRUE(before) << before.error().text();
  const auto after = GraphBuilder(*before).finish();
  ASSERT_TRUE(after);
  EXPECT_EQ(print_text(*after), print_text(*before));
}

TEST(GraphBuilder, EdgesCanBeRemovedByPredicate) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  const OpId a = add_kernel(builder, "a");
  const OpId b = add_kernel(builder, "b");
  builder.add_edge(a, b, EdgeKind::kOrder);
  builder.add_edge(b, a, EdgeKind::kData, 0, true);
  builder.remove_edges_if([](OpId, OpId, const Edge& edge) { return edge.inferred; });
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->edges.size(), 1u);
}

TEST(GraphBuilder, OpsOfACollectivePointBackToIt) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  OpSpec spec;
  spec.kind = OpKind::kTransfer;
  const OpId transfer = builder.add_op(spec);
  spec.kind = OpKind::kArrive;
  const OpId arrival = builder.add_op(spec);
  builder.add_edge(arrival, transfer, EdgeKind::kCollective);
  Collective collective;
  collective.transfer = transfer;
  collective.arrivals = {arrival};
  builder.add_collective(collective);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph);
  EXPECT_TRUE(verify(*graph)) << verify(*graph).error().text();
  EXPECT_EQ(graph->collectives[0].transfer, 1u);
  EXPECT_EQ(graph->collectives[0].arrivals, std::vector<OpId>{0});
}

TEST(GraphBuilder, MisuseFailsACheck) {
  GraphBuilder builder;
  EXPECT_THROW(builder.add_op({}), InternalError);
  builder.add_lane(LaneKind::kHost, 0, "h");
  const OpId op = builder.add_op({});
  EXPECT_THROW(builder.add_edge(op, op + 1, EdgeKind::kOrder), InternalError);
  EXPECT_THROW(builder.add_edge(op, op, EdgeKind::kOrder, -1), InternalError);
}

TEST(GraphBuilder, FinishInOrderRefusesEdgesAgainstTheOrder) {
  GraphBuilder builder;
  builder.add_lane(LaneKind::kStream, 0, "s");
  const OpId a = add_kernel(builder, "a");
  const OpId b = add_kernel(builder, "b");
  builder.add_edge(b, a, EdgeKind::kOrder);
  EXPECT_FALSE(std::move(builder).finish_in_order());
}

}  // namespace
}  // namespace weft::graph
