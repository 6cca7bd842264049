// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/unroll.h"

#include <gtest/gtest.h>

#include "weft/graph/plain_replay.h"
#include "weft/graph/text.h"

namespace weft::graph {
namespace {

Graph parse(std::string_view text) {
  auto graph = parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

Graph unrolled(const Graph& graph, const std::vector<std::int64_t>& sequence,
               std::vector<OpId>* origin = nullptr) {
  auto result = unroll(graph, sequence);
  EXPECT_TRUE(result) << result.error().text();
  const Status sound = verify(result->graph);
  EXPECT_TRUE(sound) << sound.error().text();
  if (origin) *origin = result->op_origin;
  return result->graph;
}

/// Returns, for each unrolled step, the end of its last op. `ends[i]` belongs to position i of the
/// sequence.
std::vector<Nanos> step_ends(const Graph& graph) {
  std::vector<Nanos> ends(graph.steps.size());
  const std::vector<Nanos> all = plain_ends(graph);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.step[op] < 0) continue;
    Nanos& end = ends[static_cast<std::size_t>(graph.ops.step[op])];
    end = std::max(end, all[op]);
  }
  return ends;
}

constexpr std::string_view kTwoSteps = R"(
  lane cpu host 0
  lane s stream 0
  b: kernel s 9us
  step 3
  k3: kernel s 10us at=20us after b
  step 4
  k4: kernel s 20us at=32us after k3+2us
)";

TEST(Unroll, StepsFollowEachOtherWithTheRecordedGap) {
  const Graph graph = unrolled(parse(kTwoSteps), {3, 4, 3, 4});
  EXPECT_EQ(graph.steps, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(step_ends(graph), (std::vector<Nanos>{10'000, 32'000, 44'000, 66'000}));
}

TEST(Unroll, OpsOutsideOfAllStepsAreLeftOut) {
  const Graph graph = unrolled(parse(kTwoSteps), {3, 4});
  EXPECT_EQ(graph.size(), 3u);  // the beginning, and one kernel per step
}

TEST(Unroll, OneStepCanBeRepeated) {
  const Graph graph = unrolled(parse(kTwoSteps), {4, 4, 4});
  EXPECT_EQ(step_ends(graph), (std::vector<Nanos>{20'000, 42'000, 64'000}));
}

TEST(Unroll, OnlyStepOfARecordingIsRepeatedWithTheGapAtItsEnd) {
  const Graph graph = unrolled(parse(R"(
    lane cpu host 0
    step 7
    m: host cpu 0 "step"
    a: host cpu 10us after m
    step none
    e: host cpu 0 "step" after a+3us
  )"),
                               {7, 7, 7});
  EXPECT_EQ(step_ends(graph), (std::vector<Nanos>{10'000, 23'000, 36'000}));
}

TEST(Unroll, DependenciesAcrossABoundaryAreThoseOfRecordedNeighbours) {
  // In step 4, compute waits for the communication of step 3.
  const Graph graph = unrolled(parse(R"(
    lane c stream 0
    lane n stream 0
    step 3
    c3: kernel c 10us "compute"
    n3: kernel n 50us "move" after c3:event_wait
    step 4
    c4: kernel c 10us "compute" after c3, n3+1us:event_wait
    n4: kernel n 50us "move" after n3, c4:event_wait
  )"),
                               {3, 4, 3, 4});
  EXPECT_EQ(step_ends(graph), (std::vector<Nanos>{60'000, 121'000, 182'000, 243'000}));
}

TEST(Unroll, CommunicationContinuesAfterTheTransferBefore) {
  std::vector<OpId> origin;
  const Graph recorded = parse(R"(
    lane r0 stream 0
    lane r1 stream 1
    lane net link -
    step 1
    x: arrive r0 0
    y: arrive r1 0
    t: transfer net 30us after x:collective, y:collective
    c: collective allreduce ranks=2 bytes=64 transfer=t arrivals=x,y
  )");
  const Graph graph = unrolled(recorded, {1, 1, 1}, &origin);
  EXPECT_EQ(step_ends(graph), (std::vector<Nanos>{30'000, 60'000, 90'000}));
  EXPECT_EQ(graph.collectives.size(), 3u);
  ASSERT_EQ(origin.size(), graph.size());
  for (OpId op = 1; op < graph.size(); ++op) {
    EXPECT_EQ(graph.ops.kind[op], recorded.ops.kind[origin[op]]);
  }
}

TEST(Unroll, WaitForAFullLaunchQueueIsLeftOut) {
  // In the recording, the host waited 90 us for room in the queue. The unrolled steps do not wait.
  const Graph graph = unrolled(parse(R"(
    lane cpu host 0
    lane s stream 0
    step 1
    a: launch cpu 5us
    k: kernel s 100us after a:launch
    q: host cpu 0 "launch queue full" after a
    r: sync cpu 0 "launch queue full" after q+90us, k:host_sync
    b: launch cpu 5us after r
    step 2
    z: launch cpu 5us after b
  )"),
                               {1, 2});
  const std::vector<Nanos> ends = plain_ends(graph);
  Nanos last_launch = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] == OpKind::kLaunch) last_launch = std::max(last_launch, ends[op]);
  }
  EXPECT_EQ(last_launch, 15'000);
}

TEST(Unroll, StepThatWasNotRecordedIsRefused) {
  const auto result = unroll(parse(kTwoSteps), {3, 5});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find("step 5"), std::string::npos);
}

/// A change of times may be made before or after unrolling, if each copy of an edge gets the delay
/// of the edge from which it has its delay.
TEST(Unroll, EdgesKnowFromWhichEdgeTheyHaveTheirDelay) {
  const Graph recorded = parse(kTwoSteps);
  const std::vector<std::int64_t> sequence = {3, 4, 4, 3, 3, 4};
  Unrolled before = unroll(recorded, sequence).value();
  Graph changed = recorded;
  Nanos unique = 1000;
  for (Edge& edge : changed.edges) edge.delay = unique++;
  for (EdgeId e = 0; e < before.graph.edges.size(); ++e) {
    const EdgeId origin = before.edge_origin[e];
    before.graph.edges[e].delay = origin == kNoId ? 0 : changed.edges[origin].delay;
  }
  EXPECT_EQ(print_text(before.graph), print_text(unroll(changed, sequence).value().graph));
}

}  // namespace
}  // namespace weft::graph
