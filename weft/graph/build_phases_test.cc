// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/build_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "weft/graph/made_pipeline.h"

namespace weft::graph {
namespace {

constexpr Nanos ms = kMillisecond;

PhaseGraph build(const trace::Run& run, Diagnostics* diagnostics = nullptr) {
  Diagnostics unused;
  auto built = build_phases(run, diagnostics ? *diagnostics : unused);
  EXPECT_TRUE(built) << (built ? "" : built.error().text());
  return built ? std::move(*built) : PhaseGraph{};
}

/// Returns the op of this name on a rank that has `nth` such ops before it. Rank -1 finds transfers
/// and step marks.
std::optional<OpId> find(const Graph& graph, std::string_view name, std::int32_t rank,
                         int nth = 0) {
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.name(op) == name && graph.rank(op) == rank && nth-- == 0) return op;
  }
  return std::nullopt;
}

const Edge* edge(const Graph& graph, std::optional<OpId> from, std::optional<OpId> to) {
  if (!from || !to) return nullptr;
  for (const Edge& e : graph.in_edges(*to)) {
    if (e.source == *from) return &e;
  }
  return nullptr;
}

TEST(BuildPhases, ComputeWaitsForItsMessageAndTheMessageForBothSides) {
  trace::Run run = made::empty_run(1, 2);
  made::add_phase(run.ranks[0], "forward-compute", 0, 10 * ms, {5, 0, 0, 0});
  made::add_phase(run.ranks[0], "forward-send", 10 * ms, 1 * ms, {5, -1, -1, 0}, 1);
  made::add_phase(run.ranks[1], "forward-recv", 2 * ms, 9 * ms, {5, -1, -1, 0}, 1);
  made::add_phase(run.ranks[1], "forward-compute", 12 * ms, 10 * ms, {5, 0, 0, 0});
  const Graph graph = build(run).graph;
  const auto send = find(graph, "forward-send", 0);
  const auto recv = find(graph, "forward-recv", 1);
  const auto message = find(graph, "forward-message", -1);
  EXPECT_TRUE(edge(graph, find(graph, "forward-compute", 0), send));
  EXPECT_TRUE(edge(graph, send, message));
  EXPECT_TRUE(edge(graph, recv, message));
  const Edge* out = edge(graph, message, find(graph, "forward-compute", 1));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->delay, 1 * ms) << "a launch delay that nothing explains";
  EXPECT_EQ(graph.ops.duration[*message], 1 * ms) << "from the last arrival on";
  EXPECT_EQ(graph.steps, std::vector<std::int64_t>{5});
}

TEST(BuildPhases, TransferEndsWithTheFirstMemberReleased) {
  trace::Run run = made::empty_run(2, 1);
  made::add_phase(run.ranks[0], "params-all-gather", 0, 9 * ms, {1, -1, 0, 0}, 1);
  made::add_phase(run.ranks[1], "params-all-gather", 4 * ms, 4 * ms, {1, -1, 0, 0}, 1);
  const Graph graph = build(run).graph;
  ASSERT_EQ(graph.collectives.size(), 1u);
  EXPECT_EQ(graph.collectives[0].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(graph.collectives[0].arrivals.size(), 2u);
  EXPECT_EQ(graph.ops.duration[graph.collectives[0].transfer], 4 * ms);
  const auto late = find(graph, "params-all-gather", 1);
  EXPECT_EQ(edge(graph, find(graph, "step", -1), late)->delay, 4 * ms);
}

TEST(BuildPhases, WaitForOtherMembersIsNotADelayIfOnlyTransfersAreRecorded) {
  trace::Run run = made::empty_run(2, 1);
  for (std::size_t r : {0u, 1u}) {
    const Nanos compute = r == 0 ? 10 * ms : 30 * ms;
    made::add_phase(run.ranks[r], "backward-compute", 0, compute, {1, 0, 0, 0});
    made::add_phase(run.ranks[r], "grads-reduce-scatter", 31 * ms, 5 * ms, {1, -1, 0, 0}, 1);
  }
  const Graph graph = build(run).graph;
  for (std::int32_t r : {0, 1}) {
    const Edge* e =
        edge(graph, find(graph, "backward-compute", r), find(graph, "grads-reduce-scatter", r));
    ASSERT_TRUE(e);
    EXPECT_EQ(e->delay, 1 * ms) << "rank " << r;
  }
}

TEST(BuildPhases, StepEndsWithGradientsThenClipThenOptimizer) {
  const Graph graph = build(made::play({.replicas = 2, .stages = 2, .micro_batches = 2})).graph;
  for (std::int32_t r : {0, 3}) {
    const auto scatter = find(graph, "grads-reduce-scatter", r);
    EXPECT_TRUE(edge(graph, find(graph, "backward-compute", r, 1), scatter)) << r;
    EXPECT_TRUE(
        edge(graph, find(graph, "optimizer-clip-main-grad", -1), find(graph, "optimizer", r)))
        << r;
  }
  const auto clip = find(graph, "optimizer-clip-main-grad", -1);
  EXPECT_EQ(graph.collectives[graph.ops.collective[*clip]].arrivals.size(), 4u);
  for (const Edge& e : graph.edges) EXPECT_EQ(e.delay, 0);
}

TEST(BuildPhases, OverlappedReduceScatterFollowsTheLastBackwardOfItsChunk) {
  trace::Run run = made::empty_run(1, 1);
  trace::RankTrace& rank = run.ranks[0];
  made::add_phase(rank, "forward-compute", 0, 10 * ms, {1, 0, 0, 0});
  made::add_phase(rank, "forward-compute", 10 * ms, 10 * ms, {1, 0, 1, 1});
  made::add_phase(rank, "backward-compute", 20 * ms, 20 * ms, {1, 0, 1, 0});
  made::add_phase(rank, "backward-compute", 40 * ms, 20 * ms, {1, 0, 0, 1});
  made::add_phase(rank, "grads-reduce-scatter", 40 * ms, 5 * ms, {1, -1, 1, 0}, 1);
  made::add_phase(rank, "grads-reduce-scatter", 60 * ms, 5 * ms, {1, -1, 0, 1}, 1);
  made::add_phase(rank, "optimizer", 66 * ms, 1 * ms, {1, -1, -1, 0});
  const Graph by_times = build(run).graph;
  EXPECT_TRUE(edge(by_times, find(by_times, "backward-compute", 0, 0),
                   find(by_times, "grads-reduce-scatter", 0, 0)));

  made::add_phase(rank, "separate-grads-all-reduce", 65 * ms, 1 * ms, {1, -1, -1, 0}, 1);
  const Graph graph = build(run).graph;
  const auto scatter = [&](int n) { return find(graph, "grads-reduce-scatter", 0, n); };
  EXPECT_TRUE(edge(graph, find(graph, "backward-compute", 0, 0), scatter(0)));
  EXPECT_TRUE(edge(graph, find(graph, "backward-compute", 0, 1), scatter(1)));
  EXPECT_TRUE(edge(graph, find(graph, "grads-reduce-scatter", -1, 1),
                   find(graph, "separate-grads-all-reduce", 0)));
}

TEST(BuildPhases, InterleavedChunksSendMessagesAroundTheStages) {
  trace::Run run = made::empty_run(1, 2);
  // Two stages hold four model chunks, and there is one micro-batch. Each compute sends its output
  // to the other stage.
  Nanos now = 0;
  std::int32_t sent[2] = {0, 0}, received[2] = {0, 0}, computed[2] = {0, 0};
  for (std::int32_t chunk : {0, 1}) {
    for (std::size_t stage : {0u, 1u}) {
      made::add_phase(run.ranks[stage], "forward-recv", now, 1 * ms, {1, -1, -1, received[stage]++},
                      1);
      now += 1 * ms;
      made::add_phase(run.ranks[stage], "forward-compute", now, 10 * ms,
                      {1, 0, chunk, computed[stage]++});
      now += 10 * ms;
      made::add_phase(run.ranks[stage], "forward-send", now, 1 * ms, {1, -1, -1, sent[stage]++}, 1);
    }
  }
  Diagnostics diagnostics;
  const Graph graph = build(run, &diagnostics).graph;
  std::size_t messages = 0;
  for (const Collective& c : graph.collectives) {
    ++messages;
    EXPECT_EQ(c.arrivals.size(), 2u) << c.group;
  }
  EXPECT_EQ(messages, 3u) << "four computes in a row";
  EXPECT_EQ(diagnostics.count_of("phase-message-idle"), 2)
      << "what the first chunk would receive and the last would send";
  const auto second = find(graph, "forward-compute", 0, 1);
  EXPECT_TRUE(edge(graph, find(graph, "forward-message", -1, 1), second));
}

TEST(BuildPhases, OrderThatTheRecordingContradictsIsDropped) {
  trace::Run run = made::empty_run(1, 2);
  made::add_phase(run.ranks[0], "forward-compute", 0, 50 * ms, {1, 0, 0, 0});
  made::add_phase(run.ranks[0], "forward-send", 1 * ms, 1 * ms, {1, -1, -1, 0}, 1);
  made::add_phase(run.ranks[1], "forward-recv", 1 * ms, 1 * ms, {1, -1, -1, 0}, 1);
  made::add_phase(run.ranks[1], "forward-compute", 2 * ms, 1 * ms, {1, 0, 0, 0});
  Diagnostics diagnostics;
  const Graph graph = build(run, &diagnostics).graph;
  EXPECT_EQ(diagnostics.count_of("phase-order-contradicted"), 1);
  EXPECT_FALSE(edge(graph, find(graph, "forward-compute", 0), find(graph, "forward-send", 0)));
}

TEST(BuildPhases, StepsFollowEachOther) {
  const Graph graph = build(made::play({.replicas = 1, .steps = 2})).graph;
  EXPECT_EQ(graph.steps, (std::vector<std::int64_t>{1, 2}));
  for (std::int32_t r : {0, 1}) {
    EXPECT_TRUE(edge(graph, find(graph, "optimizer", r, 0), find(graph, "step", -1, 1)));
  }
}

TEST(BuildPhases, MissingPartnersAreCountedAndDoNotBlock) {
  trace::Run run = made::play({});
  run.ranks.erase(run.ranks.begin());
  Diagnostics diagnostics;
  const PhaseGraph built = build(run, &diagnostics);
  EXPECT_GT(diagnostics.count_of("phase-partner-missing"), 0);
  EXPECT_EQ(built.workers.size(), 3u);
}

TEST(BuildPhases, MicroBatchesWithoutIdsAreMatchedByOrder) {
  trace::Run run = made::play({});
  const std::size_t with_ids = build(run).graph.collectives.size();
  for (trace::RankTrace& rank : run.ranks) {
    for (trace::PhaseDetail& phase : rank.phases) phase.micro_batch = -1;
  }
  const Graph graph = build(run).graph;
  EXPECT_EQ(graph.collectives.size(), with_ids);
  for (const Collective& c : graph.collectives) EXPECT_EQ(c.arrivals.size(), c.ranks);
}

TEST(BuildPhases, UnknownWorkIsKeptOnTheComputeTrackOnly) {
  trace::Run run = made::play({});
  made::add_phase(run.ranks[0], "data-load", 0, 1 * ms, {1, -1, -1, 0}, 0);
  made::add_phase(run.ranks[0], "tp-something", 0, 1 * ms, {1, -1, -1, 0}, 1);
  Diagnostics diagnostics;
  const Graph graph = build(run, &diagnostics).graph;
  EXPECT_TRUE(find(graph, "data-load", 0));
  EXPECT_FALSE(find(graph, "tp-something", 0));
  EXPECT_EQ(diagnostics.count_of("phase-unknown"), 1);
}

TEST(BuildPhases, TwoWorkersMustNotClaimTheSamePlace) {
  trace::Run run = made::play({});
  Diagnostics diagnostics;
  run.ranks[1].stage = -1;
  EXPECT_FALSE(build_phases(run, diagnostics));
  run.ranks[1].stage = run.ranks[0].stage;
  run.ranks[1].replica = run.ranks[0].replica;
  EXPECT_FALSE(build_phases(run, diagnostics));
  EXPECT_FALSE(build_phases({}, diagnostics));
}

}  // namespace
}  // namespace weft::graph
