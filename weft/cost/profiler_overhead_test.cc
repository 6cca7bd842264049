// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/profiler_overhead.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"
#include "weft/trace/made_run.h"

namespace weft::cost {
namespace {

/// Makes `count` wrapper ops. Each does nothing but call one other op, and takes `own` ns for it.
trace::RankTrace wrappers(int count, Nanos own, const std::string& name = "aten::linear") {
  trace::MadeRank rank(0, 1);
  for (int i = 0; i < count; ++i) {
    const Nanos start = i * 100'000;
    rank.host(name, start, 20'000 + own);
    rank.host("aten::addmm", start + own / 2, 20'000);
  }
  return rank.trace;
}

graph::Graph parse(std::string_view text) {
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

TEST(ProfilerOverhead, IsProportionalToTheOwnTimeOfWrappers) {
  const Nanos one = overhead_per_event(wrappers(100, 1'000));
  const Nanos three = overhead_per_event(wrappers(100, 3'000));
  EXPECT_GT(one, 0);
  EXPECT_NEAR(static_cast<double>(three), 3.0 * static_cast<double>(one), 3);
}

TEST(ProfilerOverhead, IsTheUsualValueIfThereAreTooFewWrappers) {
  const Nanos usual = overhead_per_event(trace::RankTrace());
  EXPECT_GT(usual, kMicrosecond);
  EXPECT_LT(usual, 10 * kMicrosecond);
  EXPECT_EQ(overhead_per_event(wrappers(5, 900'000)), usual);
}

TEST(ProfilerOverhead, OpsWithTwoInnerOpsAreNoWrappers) {
  trace::RankTrace trace = wrappers(100, 1'000);
  const Nanos before = overhead_per_event(trace);
  trace::MadeRank rank(0, 1);
  rank.trace = trace;
  for (int i = 0; i < 300; ++i) {  // two inner ops each
    const Nanos start = 50'000'000 + i * 100'000;
    rank.host("aten::lstm", start, 90'000);
    rank.host("aten::addmm", start + 10'000, 20'000);
    rank.host("aten::addmm", start + 40'000, 20'000);
  }
  EXPECT_EQ(overhead_per_event(rank.trace), before);
}

graph::Graph host_work(int events) {
  graph::Graph graph = parse(R"(
    lane cpu host 0
    lane s stream 0
    a: launch cpu 0
    b: launch cpu 20us after a+100us
    k: kernel s 10us after b:launch
  )");
  graph.ops.host_events[1] = events;
  return graph;
}

TEST(ProfilerOverhead, IsRemovedFromTheWorkBeforeACallFirst) {
  graph::Graph graph = host_work(10);
  remove_profiler_overhead(graph, {3'000});
  EXPECT_EQ(graph.in_edges(1)[0].delay, 70'000);
  EXPECT_EQ(graph.ops.duration[1], 20'000);
  EXPECT_EQ(graph.ops.duration[2], 10'000);  // the profiler does not slow kernels
}

TEST(ProfilerOverhead, IsRemovedFromTheCallNext) {
  graph::Graph graph = host_work(10);
  graph.edges[graph.first_edge[1]].delay = 12'000;
  remove_profiler_overhead(graph, {2'000});
  EXPECT_EQ(graph.in_edges(1)[0].delay, 0);
  EXPECT_EQ(graph.ops.duration[1], 12'000);
}

TEST(ProfilerOverhead, QuarterOfTheRecordedTimeStays) {
  graph::Graph graph = host_work(1'000);
  remove_profiler_overhead(graph, {3'000});
  EXPECT_EQ(graph.in_edges(1)[0].delay + graph.ops.duration[1], 30'000);
}

TEST(ProfilerOverhead, EachRankHasAnEstimateOfItsOwn) {
  graph::Graph graph = host_work(10);
  graph.lanes[0].rank = 1;
  remove_profiler_overhead(graph, {3'000, 5'000});
  EXPECT_EQ(graph.in_edges(1)[0].delay, 50'000);
}

TEST(ProfilerOverhead, GapsBetweenQueuedKernelsShrink) {
  graph::Graph graph = parse(R"(
    lane s stream 0
    a: kernel s 10us
    b: kernel s 10us after a+8us
    c: kernel s 10us after b+300us
    d: kernel s 10us after c+500ns
  )");
  remove_profiler_overhead(graph, {});
  EXPECT_LE(graph.in_edges(1)[0].delay, 2'000);
  EXPECT_EQ(graph.in_edges(2)[0].delay, 300'000);  // too long to be a cost of the profiler
  EXPECT_EQ(graph.in_edges(3)[0].delay, 500);
}

TEST(HostDisturbances, WorkTakesItsUndisturbedTime) {
  // The same launch occurs in three steps on two ranks. Communication slowed two of these six
  // launches.
  std::string text = "lane h0 host 0\nlane h1 host 1\n";
  const int gap[2][3] = {{50, 51, 90}, {52, 80, 50}};
  for (int step = 0; step < 3; ++step) {
    text += "step " + std::to_string(step) + "\n";
    for (int rank = 0; rank < 2; ++rank) {
      const std::string id = std::to_string(rank) + std::to_string(step);
      const std::string lane = "h" + std::to_string(rank);
      text += "m" + id + ": host " + lane + " 0 \"step\"\n";
      text += "a" + id + ": launch " + lane + " 10us \"launch\" after m" + id + "+" +
              std::to_string(gap[rank][step]) + "us\n";
    }
  }
  graph::Graph graph = parse(text);
  remove_host_disturbances(graph);
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.name(op) != "launch") continue;
    EXPECT_LE(graph.in_edges(op)[0].delay, 52'000);
    EXPECT_GE(graph.in_edges(op)[0].delay, 50'000);
    EXPECT_EQ(graph.ops.duration[op], 10'000);
  }
}

}  // namespace
}  // namespace weft::cost
