// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/piece.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/sim/replay.h"

namespace weft::pipeline::recorded {
namespace {

using graph::OpId;

constexpr const char* kTwoLaunches = R"(
lane cpu host 0
lane gpu stream 0
before: host cpu 1us
busy: kernel gpu 1us
l1: launch cpu 2us after before+3us
k1: kernel gpu 10us after busy+1us, l1+4us:launch
l2: launch cpu 2us after l1+3us
k2: kernel gpu 20us after k1+1us, l2+4us:launch
)";

TEST(Piece, TellsWhatItTakesOnAnIdleAndOnABusyDevice) {
  const auto graph = graph::parse_text(kTwoLaunches);
  ASSERT_TRUE(graph.has_value());
  PieceMaker maker(*graph);
  const Piece piece = maker.make(std::vector<OpId>{2, 4});
  EXPECT_EQ(piece.host_host, 10'000);      // 3 + 2 + 3 + 2
  EXPECT_EQ(piece.host_device, 40'000);    // 3 + 2 + 4 + 10 + 1 + 20
  EXPECT_EQ(piece.device_device, 32'000);  // 1 + 10 + 1 + 20
  EXPECT_EQ(piece.work, 30'000);
  EXPECT_LT(piece.device_host, 0);
}

TEST(Piece, AHostThatWaitsForTheDeviceFollowsIt) {
  const auto graph = graph::parse_text(R"(
lane cpu host 0
lane gpu stream 0
before: host cpu 1us
busy: kernel gpu 1us
l1: launch cpu 2us after before+3us
k1: kernel gpu 10us after busy+1us, l1+4us:launch
s1: sync cpu 0 after l1, k1+5us:host_sync
)");
  ASSERT_TRUE(graph.has_value());
  PieceMaker maker(*graph);
  const Piece piece = maker.make(std::vector<OpId>{2, 4});
  EXPECT_EQ(piece.host_host, 3'000 + 2'000 + 4'000 + 10'000 + 5'000);
  EXPECT_EQ(piece.device_host, 1'000 + 10'000 + 5'000);
}

/// A rank that launches one kernel per host op, with random times; sometimes the host waits for it.
graph::Graph random_rank(std::mt19937& random, std::vector<OpId>& host_ops) {
  graph::GraphBuilder builder;
  const auto cpu = builder.add_lane(graph::LaneKind::kHost, 0, "cpu");
  const auto gpu = builder.add_lane(graph::LaneKind::kStream, 0, "gpu");
  const auto time = [&] { return static_cast<Nanos>(random() % 50); };
  OpId host = builder.add_op({.kind = graph::OpKind::kHost, .lane = cpu, .name = "before"});
  OpId kernel = builder.add_op({.kind = graph::OpKind::kKernel, .lane = gpu, .name = "before"});
  for (int i = 0; i < 12; ++i) {
    const OpId launch = builder.add_op(
        {.kind = graph::OpKind::kLaunch, .lane = cpu, .name = "launch", .duration = time()});
    builder.add_edge(host, launch, graph::EdgeKind::kOrder, time());
    const OpId next = builder.add_op(
        {.kind = graph::OpKind::kKernel, .lane = gpu, .name = "kernel", .duration = 3 * time()});
    builder.add_edge(kernel, next, graph::EdgeKind::kOrder, time() / 10);
    builder.add_edge(launch, next, graph::EdgeKind::kLaunch, time());
    host = launch;
    kernel = next;
    if (random() % 5 > 0) continue;
    host = builder.add_op({.kind = graph::OpKind::kSync, .lane = cpu, .name = "sync"});
    builder.add_edge(launch, host, graph::EdgeKind::kOrder, 0);
    builder.add_edge(kernel, host, graph::EdgeKind::kHostSync, time());
  }
  graph::Graph graph = std::move(builder).finish_in_order().value();
  for (OpId op = 2; op < graph.size(); ++op) {
    if (graph.ops.lane[op] == cpu) host_ops.push_back(op);
  }
  return graph;
}

TEST(Piece, ThePieceOfTwoIsTheProductOfBoth) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<OpId> ops;
    const graph::Graph graph = random_rank(random, ops);
    PieceMaker maker(graph);
    const std::size_t cut = random() % ops.size();
    const std::vector<OpId> first(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(cut));
    const std::vector<OpId> second(ops.begin() + static_cast<std::ptrdiff_t>(cut), ops.end());
    const Piece whole = maker.make(ops), joined = then(maker.make(first), maker.make(second));
    EXPECT_EQ(joined.host_host, whole.host_host);
    EXPECT_EQ(joined.host_device, whole.host_device);
    EXPECT_EQ(joined.device_device, whole.device_device);
    EXPECT_EQ(std::max<Nanos>(joined.device_host, -1), std::max<Nanos>(whole.device_host, -1));
  }
}

TEST(Piece, GivesTheClocksOfAReplayFromAnyStart) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<OpId> ops;
    const graph::Graph graph = random_rank(random, ops);
    const Piece piece = PieceMaker(graph).make(ops);
    const Nanos host = static_cast<Nanos>(random() % 2000);
    const Nanos device = static_cast<Nanos>(random() % 2000);
    sim::Replay replay(graph);
    replay.set_duration(0, host);
    replay.set_duration(1, device);
    replay.run();
    Nanos host_end = 0, device_end = 0;
    for (OpId op = 2; op < graph.size(); ++op) {
      const bool on_host = graph.lanes[graph.ops.lane[op]].kind == graph::LaneKind::kHost;
      Nanos& end = on_host ? host_end : device_end;
      end = std::max(end, replay.end(op));
    }
    EXPECT_EQ(host_end, std::max(host + piece.host_host, device + piece.device_host));
    EXPECT_EQ(device_end, std::max(host + piece.host_device, device + piece.device_device));
  }
}

}  // namespace
}  // namespace weft::pipeline::recorded
