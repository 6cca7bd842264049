// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/breakdown.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"
#include "weft/sim/replay.h"

namespace weft::predict {
namespace {

std::vector<Breakdown> parts_of(std::string_view text, const std::vector<Window>& windows) {
  const auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  if (!graph) return {};
  sim::Replay replay(*graph);
  replay.run();
  return break_down(*graph, replay.starts(), replay.ends(), windows);
}

void expect_parts(const Breakdown& parts, Nanos compute, Nanos communication, Nanos waiting,
                  Nanos host) {
  EXPECT_EQ(parts.compute, compute);
  EXPECT_EQ(parts.communication, communication);
  EXPECT_EQ(parts.waiting, waiting);
  EXPECT_EQ(parts.host, host);
}

// Rank 0 computes for 10 us and is then ready to communicate. Rank 1 is ready at 30 us.
constexpr const char* kTwoRanks = R"(
  lane cpu host 0
  lane a stream 0
  lane a2 stream 0
  lane b stream 1
  lane net link -
  step 1
  l: launch cpu 2us
  k: kernel a 10us after l:launch
  m: kernel b 30us
  x: arrive a2 0 after k:event_wait
  y: arrive b 0 after m
  t: transfer net 20us after x:collective, y:collective
  o: kernel a 8us after t:collective
  c: collective allreduce ranks=2 bytes=1000 transfer=t arrivals=x,y
)";

TEST(Breakdown, EveryInstantCountsOnce) {
  const auto parts = parts_of(kTwoRanks, {{0, 0, 60'000}, {1, 0, 60'000}});
  ASSERT_EQ(parts.size(), 2u);
  // The host launches until 2 us. Rank 0 waits from 12 to 30 us. Nothing runs after 58 us.
  expect_parts(parts[0], 18'000, 20'000, 18'000, 4'000);
  expect_parts(parts[1], 30'000, 20'000, 0, 10'000);
  for (const Breakdown& each : parts) EXPECT_EQ(each.total(), 60'000);
}

TEST(Breakdown, OpsCountOnlyInsideTheWindow) {
  const auto parts = parts_of(kTwoRanks, {{0, 5'000, 40'000}});
  expect_parts(parts.at(0), 7'000, 10'000, 18'000, 0);
}

TEST(Breakdown, ComputeHidesCommunication) {
  const auto parts = parts_of(R"(
    lane a stream 0
    lane a2 stream 0
    lane net link -
    step 1
    x: arrive a2 0
    t: transfer net 20us after x:collective
    k: kernel a 15us
    c: collective allreduce ranks=2 bytes=1000 transfer=t arrivals=x
  )",
                              {{0, 0, 20'000}});
  expect_parts(parts.at(0), 15'000, 5'000, 0, 0);
}

TEST(Breakdown, RankWithoutOpsHasOnlyHostTime) {
  const auto parts = parts_of(kTwoRanks, {{7, 0, 10'000}});
  expect_parts(parts.at(0), 0, 0, 0, 10'000);
}

}  // namespace
}  // namespace weft::predict
