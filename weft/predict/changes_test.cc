// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/changes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "weft/graph/text.h"

namespace weft::predict {
namespace {

/// Two ranks that compute on their host threads, then all-reduce, then compute again.
graph::Graph two_hosts(const char* collective = "allreduce ranks=2") {
  auto graph = graph::parse_text(
      "lane h0 host 0\nlane h1 host 1\nlane n0 host 0\nlane n1 host 1\nlane net link -\nstep 1\n"
      "a0: host h0 10ms \"work\" at=0 took=10ms\n"
      "a1: host h1 10ms \"work\" at=0 took=10ms\n"
      "x0: arrive n0 0 \"gloo\" at=10ms took=42ms after a0:launch\n"
      "x1: arrive n1 0 \"gloo\" at=10ms took=42ms after a1:launch\n"
      "t: transfer net 42ms at=10ms took=42ms after x0:collective, x1:collective\n"
      "b0: host h0 5ms \"more\" at=53ms took=5ms after a0+3ms, t+1ms:thread\n"
      "b1: host h1 5ms \"more\" at=53ms took=5ms after a1+3ms, t+1ms:thread\n" +
      std::string("c: collective ") + collective + " bytes=1000000 transfer=t arrivals=x0,x1\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

/// A link with 2 ms of latency and 40 ms for each million bytes.
cost::LinkModel links(std::int32_t ranks = 2) {
  cost::LinkTable table;
  table.ranks = ranks;
  table.rows = {{1, 2 * kMillisecond}, {1'000'000, 42 * kMillisecond}};
  return cost::LinkModel({table}, graph::Graph());
}

graph::OpId named(const graph::Graph& graph, std::string_view name, std::int32_t rank) {
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.name(op) == name && graph.rank(op) == rank) return op;
  }
  return graph::kNoId;
}

Nanos transfer_time(const graph::Graph& graph) {
  return graph.ops.duration[graph.collectives[0].transfer];
}

TEST(Changes, BandwidthAndLatencyChangeDifferentPartsOfATransfer) {
  graph::Graph graph = two_hosts();
  change_network(graph, links(), 2, 1);
  EXPECT_EQ(transfer_time(graph), 22 * kMillisecond);
  change_network(graph, links(), 1, 0.5);
  EXPECT_EQ(transfer_time(graph), 21 * kMillisecond);
}

TEST(Changes, OnARankWithoutDeviceHostWorkAndItsDelaysAreCompute) {
  graph::Graph graph = two_hosts();
  change_compute(graph, 1, 0.5, {0, 1});
  EXPECT_EQ(graph.ops.duration[named(graph, "work", 0)], 10 * kMillisecond);
  EXPECT_EQ(graph.ops.duration[named(graph, "work", 1)], 20 * kMillisecond);
  EXPECT_EQ(transfer_time(graph), 42 * kMillisecond);
  for (const graph::Edge& edge : graph.in_edges(named(graph, "more", 1))) {
    const bool own = graph.rank(edge.source) == 1;
    EXPECT_EQ(edge.delay, own ? 6 * kMillisecond : 1 * kMillisecond);
  }
}

TEST(Changes, MoreWorkersMoveMoreBytesOverEachLinkInMoreRounds) {
  graph::Graph graph = two_hosts();
  ASSERT_TRUE(change_workers(graph, links(), 4, 2));
  // With 2 workers, a ring has 2 rounds, and their latency is 2 ms. With 4 workers it has 6 rounds,
  // which take 6 ms. The volume per link grows from 1 to 1.5 arrays, so 40 ms become 60 ms.
  EXPECT_EQ(transfer_time(graph), 66 * kMillisecond);
  EXPECT_EQ(graph.collectives[0].ranks, 4);
}

TEST(Changes, ATableForTheNewNumberOfWorkersIsUsed) {
  graph::Graph graph = two_hosts();
  ASSERT_TRUE(change_workers(graph, links(8), 8, 2));
  EXPECT_EQ(transfer_time(graph), 42 * kMillisecond);
}

TEST(Changes, WorkersAreExtrapolatedFromTheNearestMeasuredNumber) {
  graph::Graph graph = two_hosts();
  EXPECT_EQ(worker_evidence(graph, links(8), 16).ranks, 8);
  EXPECT_EQ(worker_evidence(graph, links(8), 16).doublings, 1);
  EXPECT_EQ(worker_evidence(graph, links(8), 3).ranks, 2);
  // From 8 to 16 ranks, a ring has 30 rounds and not 14, and the volume grows from 7/4 to 15/8.
  ASSERT_TRUE(change_workers(graph, links(8), 16, 2));
  EXPECT_EQ(transfer_time(graph), std::llround(2e6 * 30 / 14) + std::llround(40e6 * 15 / 14));
}

TEST(Changes, WorkersFarFromAllMeasurementsAreRefused) {
  graph::Graph graph = two_hosts();
  EXPECT_TRUE(change_workers(graph, links(), 32, 2));
  graph = two_hosts();
  EXPECT_FALSE(change_workers(graph, links(), 33, 2));
  EXPECT_TRUE(change_workers(graph, links(8), 33, 2));
  graph = two_hosts("pushpull ranks=2");
  EXPECT_FALSE(change_workers(graph, links(), 33, 2));
}

TEST(Changes, MoreWorkersShareTheLinkOfAServer) {
  // One of the two workers runs on the server's host. Of four workers, three use the server's link.
  graph::Graph graph = two_hosts("pushpull ranks=2");
  ASSERT_TRUE(change_workers(graph, links(), 4, 1));
  EXPECT_EQ(transfer_time(graph), 3 * 42 * kMillisecond);
  graph = two_hosts("pushpull ranks=2");
  ASSERT_TRUE(change_workers(graph, links(), 4, 2));
  EXPECT_EQ(transfer_time(graph), 2 * 42 * kMillisecond);
  EXPECT_EQ(graph.collectives[0].ranks, 4);
}

TEST(Changes, JobsThatAreNotDataParallelAreRefused) {
  graph::Graph messages = two_hosts("sendrecv ranks=2");
  const Status refused = change_workers(messages, links(), 4, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  graph::Graph alone = two_hosts();
  alone.collectives.clear();
  EXPECT_FALSE(change_workers(alone, links(), 4, 2));
}

}  // namespace
}  // namespace weft::predict
