// SPDX-License-Identifier: Apache-2.0
// Tests how parameter servers appear in the graph. A push carries a gradient to its server. The
// server adds up what all workers pushed. A pull carries the sum back to a worker.
#include <gtest/gtest.h>

#include <vector>

#include "weft/graph/text.h"
#include "weft/sim/contention.h"
#include "weft/sim/replay.h"

namespace weft::sim {
namespace {

graph::Graph two_workers_one_server() {
  auto graph = graph::parse_text(R"(
    lane w0 stream 0
    lane w1 stream 1
    lane server host 2
    lane "w0 up" link -
    lane "w1 up" link -
    lane "w0 down" link -
    lane "w1 down" link -
    step 1
    b0: kernel w0 10us "backward"
    b1: kernel w1 30us "backward"
    p0: push "w0 up" 5us bytes=4096 of=c after b0:data
    p1: push "w1 up" 5us bytes=4096 of=c after b1:data
    sum: host server 2us "sum" after p0:data, p1:data
    l0: pull "w0 down" 4us bytes=4096 of=c after sum:data
    l1: pull "w1 down" 6us bytes=4096 of=c after sum:data
    n0: kernel w0 10us "next" after b0, l0:data
    n1: kernel w1 10us "next" after b1, l1:data
    c: collective pushpull ranks=3 bytes=4096
  )");
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

graph::OpId find(const graph::Graph& graph, graph::OpKind kind, int nth) {
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] == kind && nth-- == 0) return op;
  }
  ADD_FAILURE();
  return 0;
}

TEST(PushPull, ServerWaitsForThePushOfEveryWorker) {
  const graph::Graph graph = two_workers_one_server();
  Replay replay(graph);
  replay.run();
  const graph::OpId sum = find(graph, graph::OpKind::kHost, 0);
  EXPECT_EQ(replay.start(sum), 35'000);
  EXPECT_EQ(replay.end(find(graph, graph::OpKind::kPull, 0)), 41'000);
  EXPECT_EQ(replay.end(find(graph, graph::OpKind::kPull, 1)), 43'000);
  EXPECT_EQ(replay.makespan(), 53'000);
}

TEST(PushPull, FasterLinkOfTheSlowWorkerShortensTheStepOfAllWorkers) {
  const graph::Graph graph = two_workers_one_server();
  Replay replay(graph);
  replay.run();
  replay.set_duration(find(graph, graph::OpKind::kPush, 1), 1'000);
  replay.update();
  EXPECT_EQ(replay.makespan(), 49'000);
  // The push of the other worker is not on the critical path.
  replay.set_duration(find(graph, graph::OpKind::kPush, 0), 1'000);
  replay.update();
  EXPECT_EQ(replay.makespan(), 49'000);
}

TEST(PushPull, ContentionDoesNotSlowPushesAndPulls) {
  const graph::Graph graph = two_workers_one_server();
  const std::vector<double> slowdown(graph.size(), 2.0);
  Contention contention(graph, slowdown);
  Replay replay(graph);
  EXPECT_TRUE(contention.settle(replay, graph.ops.duration).converged);
  for (const graph::OpKind kind : {graph::OpKind::kPush, graph::OpKind::kPull}) {
    for (const int nth : {0, 1}) {
      const graph::OpId op = find(graph, kind, nth);
      EXPECT_EQ(replay.duration(op), graph.ops.duration[op]);
    }
  }
}

TEST(PushPull, TextFormKeepsPushesAndPulls) {
  const graph::Graph graph = two_workers_one_server();
  const std::string text = graph::print_text(graph);
  EXPECT_NE(text.find(": push \"w0 up\" 5us"), std::string::npos) << text;
  EXPECT_NE(text.find("collective pushpull ranks=3"), std::string::npos) << text;
  const auto again = graph::parse_text(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(graph::print_text(*again), text);
}

}  // namespace
}  // namespace weft::sim
