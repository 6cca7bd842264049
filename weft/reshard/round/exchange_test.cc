// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/exchange.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/plan.h"
#include "weft/reshard/round/nodes.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/moves.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {
namespace {

/// Counts the traffic of a list of transfers.
Traffic counted(const Round& round, const std::vector<std::int32_t>& node_of) {
  std::map<Device, std::int64_t> received;
  std::map<std::int32_t, std::int64_t> into_node;
  std::map<Device, std::set<Device>> peers;
  Traffic sum;
  for (const Transfer& transfer : round) {
    EXPECT_NE(transfer.from, transfer.to);
    EXPECT_GT(volume(transfer.box), 0);
    received[transfer.to] += volume(transfer.box);
    peers[transfer.to].insert(transfer.from);
    sum.recv_total += volume(transfer.box);
    if (!node_of.empty() && node_of[transfer.from] != node_of[transfer.to]) {
      into_node[node_of[transfer.to]] += volume(transfer.box);
    }
  }
  for (const auto& [node, elements] : into_node) {
    sum.node_recv_max = std::max(sum.node_recv_max, elements);
  }
  for (const auto& [device, elements] : received) {
    sum.recv_max = std::max(sum.recv_max, elements);
    sum.peers_max = std::max(sum.peers_max, static_cast<std::int64_t>(peers[device].size()));
  }
  return sum;
}

/// Expects that traffic() returns the same numbers as counting the listed transfers.
void expect_traffic(const Layout& from, const Layout& to,
                    const std::vector<std::int32_t>& node_of) {
  OverlapCache overlaps(node_of);
  const Traffic predicted = traffic(from, to, overlaps);
  const Traffic real = counted(exchange(from, to, overlaps), node_of);
  EXPECT_EQ(predicted.recv_max, real.recv_max);
  EXPECT_EQ(predicted.recv_total, real.recv_total);
  EXPECT_EQ(predicted.peers_max, real.peers_max);
  EXPECT_EQ(predicted.node_recv_max, real.node_recv_max);
}

TEST(Exchange, TrafficAgreesWithTheListOfTransfers) {
  for (unsigned seed = 0; seed < 900; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = random_problem(
        seed, {.even = seed % 3 == 0, .partial = seed % 5 == 0, .other_mesh = seed % 2 == 0});
    if (problem.target.partial()) continue;
    if (seed % 4 == 0) set_nodes(problem, 1 + seed % 3);
    expect_traffic(problem.source, problem.target, problem.node_of);
    std::vector<std::int64_t> by_device;
    OverlapCache overlaps(problem.node_of);
    traffic(problem.source, problem.target, overlaps, &by_device);
    EXPECT_EQ(by_device, received(problem.source, problem.target));
  }
}

TEST(Exchange, TrafficOfIntermediateTypesAgreesWithTheListOfTransfers) {
  // The types between source and target (see Type in factors.h) have strided parts, cuts at the
  // edges of the source or the target, and summands that are reduced in part.
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = random_problem(
        seed, {.even = seed % 3 == 0, .partial = seed % 2 == 0, .other_mesh = seed % 5 == 0});
    if (seed % 7 > 0) set_nodes(problem, 1 + seed % 4);
    const auto factored = factor(problem);
    if (!factored || problem.target.partial()) continue;
    TypeLayouts layouts(problem, *factored);
    if (!layouts.consistent()) continue;
    TypeNumbers& numbers = layouts.numbers();
    const auto ways = moves(*factored, numbers.of(factored->from), numbers);
    for (std::size_t i = 0; i < ways.size(); i += 1 + ways.size() / 12) {
      const LayoutPtr way = layouts.layout(ways[i]);
      expect_traffic(problem.source, *way, problem.node_of);
      expect_traffic(*way, problem.target, problem.node_of);
      for (const TypeNumber next : moves(*factored, ways[i], numbers)) {
        expect_traffic(*way, *layouts.layout(next), problem.node_of);
      }
    }
  }
}

TEST(Exchange, ProductsAndCountingGiveTheSameTrafficBetweenNodes) {
  std::int64_t grids = 0, others = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = random_problem(
        seed, {.even = seed % 3 == 0, .partial = seed % 2 == 0, .other_mesh = seed % 5 == 0});
    set_nodes(problem, 2 + seed % 3);
    const auto factored = factor(problem);
    if (!factored || problem.target.partial()) continue;
    TypeLayouts layouts(problem, *factored);
    if (!layouts.consistent()) continue;
    TypeNumbers& numbers = layouts.numbers();
    const Layout& target = *layouts.layout(factored->to);
    for (const TypeNumber way : moves(*factored, numbers.of(factored->from), numbers)) {
      Layout layout = *layouts.layout(way);
      OverlapCache overlaps(problem.node_of);
      const std::int64_t lacks = node_deficit_max(layout, target, overlaps);
      // The lower bound must be at most what a round brings into a node. The fast path for grids
      // and the general path must give the same bound.
      EXPECT_LE(lacks, node_inflow_max(layout, target, overlaps));
      (layout.node_grid ? grids : others) += 1;
      layout.node_grid = false;
      EXPECT_EQ(node_deficit_max(layout, target, overlaps), lacks);
    }
  }
  EXPECT_GT(grids, 500);
  EXPECT_GT(others, 200);
}

TEST(Exchange, PiecesOfADeviceAreThoseOfAllPiecesThatItTakesPartIn) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Problem problem = random_problem(seed, {.partial = seed % 2 == 1, .other_mesh = true});
    if (problem.target.partial()) problem.target = problem.source;
    if (seed % 3 == 0) set_nodes(problem, 2);
    OverlapCache overlaps(problem.node_of);
    const std::vector<Piece> all = pieces(problem.source, problem.target, overlaps);
    for (Device self = 0; self < problem.source.devices(); ++self) {
      std::vector<Piece> own = all;
      std::erase_if(own,
                    [&](const Piece& piece) { return piece.from != self && piece.to != self; });
      EXPECT_EQ(pieces_of(self, problem.source, problem.target, overlaps), own) << seed;
    }
  }
}

TEST(Exchange, OneRoundMeetsTheReceiveBoundExactly) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    const Problem problem = random_problem(seed, {.other_mesh = seed % 2 == 0});
    OverlapCache overlaps;
    const Traffic real = counted(exchange(problem.source, problem.target, overlaps), {});
    EXPECT_EQ(real.recv_max, bounds(problem).recv_max) << seed;
    EXPECT_EQ(real.recv_total, bounds(problem).recv_total) << seed;
  }
}

TEST(Exchange, DevicesWithCopiesShareTheSending) {
  // Devices 0-3 hold one block of rows, and devices 4-7 hold the other block. Every device wants
  // the whole array.
  const Problem problem = parsed("x=2,y=4", "8,8", "x,-", "-,-");
  OverlapCache overlaps;
  std::map<Device, std::int64_t> sent;
  for (const Transfer& transfer : exchange(problem.source, problem.target, overlaps)) {
    sent[transfer.from] += volume(transfer.box);
  }
  EXPECT_EQ(sent.size(), 8u);
  for (const auto& [device, elements] : sent) EXPECT_EQ(elements, 32) << device;
}

TEST(Exchange, AReceiverAddsToItsOwnSummand) {
  const Problem problem = parsed("x=2", "4", "-", "x", "x");
  OverlapCache overlaps;
  const Round round = exchange(problem.source, problem.target, overlaps);
  ASSERT_EQ(round.size(), 2u);
  EXPECT_TRUE(round[0].add && round[1].add);
  EXPECT_EQ(round[0].box, (Box{{0, 2}}));
}

TEST(Exchange, RaggedShardsCanBeExchanged) {
  Problem problem;
  problem.shape = {5, 7};
  problem.devices = {0, 1, 2};
  const Box all{{0, 5}, {0, 7}};
  problem.source = layout_of_boxes(
      problem.shape, {flat_range(all, 0, 3), flat_range(all, 3, 31), flat_range(all, 31, 35)});
  problem.target =
      layout_of_boxes(problem.shape, {flat_range(all, 0, 20), {}, flat_range(all, 20, 35)});
  ASSERT_TRUE(check_source(problem.source));
  OverlapCache overlaps;
  const Round round = exchange(problem.source, problem.target, overlaps);
  EXPECT_TRUE(replay(problem, {round}, problem.target));
  EXPECT_TRUE(run_oracle(problem, {round}, problem.target));
  EXPECT_EQ(traffic(problem.source, problem.target, overlaps).recv_max, 17);
  EXPECT_EQ(bounds(problem).recv_max, 17);
}

TEST(Exchange, GroupsOfSummandsCanBeMergedButNotSplit) {
  const Problem problem = parsed("x=2", "4", "-", "-", "x");
  EXPECT_TRUE(exchangeable(problem.source, problem.target));
  EXPECT_FALSE(exchangeable(problem.target, problem.source));
}

}  // namespace
}  // namespace weft::reshard
