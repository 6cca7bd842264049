// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/wire_match.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

namespace weft::trace {
namespace {

WireConnection between(const std::string& local, const std::string& peer) {
  WireConnection connection;
  connection.local = local;
  connection.peer = peer;
  return connection;
}

/// Ranks 0 and 1 with one connection.
Run two_ranks() {
  trace::Run run;
  run.ranks.resize(2);
  run.ranks[0].wire.connections.push_back(between("10.0.0.1:50", "10.0.0.2:60"));
  run.ranks[1].wire.connections.push_back(between("10.0.0.2:60", "10.0.0.1:50"));
  return run;
}

WireTransfer moved(bool outgoing, Nanos start, Nanos duration, std::int64_t offset, Bytes bytes) {
  WireTransfer transfer;
  transfer.outgoing = outgoing;
  transfer.start = start;
  transfer.duration = duration;
  transfer.offset = offset;
  transfer.bytes = bytes;
  return transfer;
}

TEST(WireMatch, ReceivesArePairedWithTheSendsOfTheirBytes) {
  auto run = two_ranks();
  run.ranks[0].wire.transfers = {moved(true, 0, 5, 0, 100), moved(true, 10, 5, 100, 50)};
  run.ranks[1].wire.transfers = {moved(false, 3, 4, 0, 60), moved(false, 8, 9, 60, 90)};
  const std::vector<WirePair> pairs = match_transfers(run);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0], (WirePair{0, 1, 0, 0, 60}));
  EXPECT_EQ(pairs[1], (WirePair{0, 1, 0, 1, 40}));
  EXPECT_EQ(pairs[2], (WirePair{0, 1, 1, 1, 50}));
  EXPECT_EQ(one_way(run, pairs[0]), 7);
}

TEST(WireMatch, BytesThatOnlyOneEndRecordedHaveNoPair) {
  auto run = two_ranks();
  run.ranks[0].wire.transfers = {moved(true, 0, 5, 1000, 100)};
  run.ranks[1].wire.transfers = {moved(false, 3, 4, 0, 1000), moved(false, 9, 4, 1100, 100)};
  EXPECT_TRUE(match_transfers(run).empty());
}

TEST(WireMatch, LoopbackOfAnotherHostIsAnotherNetwork) {
  trace::Run run;
  run.ranks.resize(2);
  run.ranks[0].wire.connections.push_back(between("127.0.0.1:50", "127.0.0.1:60"));
  run.ranks[1].wire.connections.push_back(between("127.0.0.1:60", "127.0.0.1:50"));
  run.ranks[0].wire.transfers = {moved(true, 0, 5, 0, 100)};
  run.ranks[1].wire.transfers = {moved(false, 0, 5, 0, 100)};
  run.ranks[0].host = run.ranks[1].host = "a";
  EXPECT_EQ(match_transfers(run).size(), 1u);
  run.ranks[1].host = "b";
  EXPECT_TRUE(match_transfers(run).empty());
}

TEST(WireMatch, ConnectionsOnAReusedPortAreMatchedInOrder) {
  auto run = two_ranks();
  for (RankTrace& rank : run.ranks) rank.wire.connections.push_back(rank.wire.connections[0]);
  const auto on = [](WireTransfer transfer, std::uint32_t connection) {
    transfer.connection = connection;
    return transfer;
  };
  run.ranks[0].wire.transfers = {on(moved(true, 0, 1, 0, 10), 1), on(moved(true, 50, 1, 0, 20), 0)};
  run.ranks[1].wire.transfers = {on(moved(false, 2, 1, 0, 10), 0),
                                 on(moved(false, 52, 1, 0, 20), 1)};
  const std::vector<WirePair> pairs = match_transfers(run);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].bytes, 10);
  EXPECT_EQ(pairs[1].bytes, 20);
}

TEST(WireMatch, UncertainOffsetsAreNotPaired) {
  auto run = two_ranks();
  run.ranks[0].wire.transfers = {moved(true, 0, 5, 0, 100)};
  run.ranks[1].wire.transfers = {moved(false, 0, 5, 0, 100)};
  run.ranks[1].wire.connections[0].whole = false;
  EXPECT_TRUE(match_transfers(run).empty());
}

// Compares with a simple matching that looks at every single byte.
TEST(WireMatch, AgreesWithAPairOfCallsForEveryByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    auto run = two_ranks();
    std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> expected;
    std::vector<std::uint32_t> sent_by(400, kNone);
    std::vector<std::uint32_t> taken_by(400, kNone);
    const auto fill = [&](std::vector<WireTransfer>& list, std::vector<std::uint32_t>& by,
                          bool outgoing) {
      std::int64_t at = random() % 40;
      while (at < 360) {
        const Bytes bytes = 1 + random() % 40;
        // Sometimes, a call was not recorded.
        if (random() % 8 != 0) {
          for (Bytes i = 0; i < bytes; ++i) by[at + i] = static_cast<std::uint32_t>(list.size());
          list.push_back(moved(outgoing, at, 1, at, bytes));
        }
        at += bytes;
      }
    };
    fill(run.ranks[0].wire.transfers, sent_by, true);
    fill(run.ranks[1].wire.transfers, taken_by, false);
    for (std::size_t i = 0; i < sent_by.size(); ++i) {
      if (sent_by[i] != kNone && taken_by[i] != kNone) ++expected[{sent_by[i], taken_by[i]}];
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> found;
    for (const WirePair& pair : match_transfers(run)) found[{pair.send, pair.receive}] = pair.bytes;
    EXPECT_EQ(found, expected);
  }
}

TEST(ClockTies, BothWaysBoundTheDifferenceOfTwoClocks) {
  auto run = two_ranks();
  // The clock of rank 1 is 1000 ns ahead. A transfer takes 30 ns.
  run.ranks[0].wire.transfers = {moved(true, 100, 2, 0, 8), moved(false, 200, 50, 0, 8)};
  run.ranks[1].wire.transfers = {moved(false, 1100, 30, 0, 8), moved(true, 1220, 3, 0, 8)};
  const std::vector<ClockTie> ties = clock_ties(run);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(ties[0].low, -1030);
  EXPECT_EQ(ties[0].high, -970);
}

TEST(ClockTies, EachPieceFollowsTheDrift) {
  auto run = two_ranks();
  // The clock of rank 1 gains 50 us per second. A transfer takes 30 us.
  const auto there = [](Nanos t) { return t + t / 20'000; };
  std::int64_t offset = 0;
  for (Nanos t = 0; t < 20 * kSecond; t += 100 * kMillisecond, offset += 8) {
    const Nanos way = 30 * kMicrosecond;
    run.ranks[0].wire.transfers.push_back(moved(true, t, 1, offset, 8));
    run.ranks[1].wire.transfers.push_back(moved(false, there(t + way) - 5, 5, offset, 8));
    run.ranks[1].wire.transfers.push_back(moved(true, there(t + way), 1, offset, 8));
    run.ranks[0].wire.transfers.push_back(moved(false, t + 2 * way, 0, offset, 8));
  }
  const std::vector<ClockTie> ties = clock_ties(run);
  ASSERT_GE(ties.size(), 2u);
  for (const ClockTie& tie : ties) {
    EXPECT_NEAR(static_cast<double>(tie.middle()), static_cast<double>(-tie.at) / 20e3, 20e3);
  }
  EXPECT_LT(ties.back().high, ties.front().low);
}

TEST(ClockTies, OneDirectionAloneGivesNoTie) {
  auto run = two_ranks();
  run.ranks[0].wire.transfers = {moved(true, 100, 2, 0, 8)};
  run.ranks[1].wire.transfers = {moved(false, 100, 2, 0, 8)};
  EXPECT_TRUE(clock_ties(run).empty());
}

TEST(ClockTies, WorkersAreTiedThroughTheirCommonServer) {
  trace::Run run;
  run.ranks.resize(2);
  run.bystanders.resize(1);
  Wire& server = run.bystanders[0].wire;
  // The clock of worker 1 is 500 ns behind, and the clock of the server is 7000 ns ahead. A
  // transfer takes 10 ns.
  const Nanos behind[2] = {0, 500};
  for (std::uint32_t w = 0; w < 2; ++w) {
    const std::string name = "10.0.0." + std::to_string(w) + ":1";
    run.ranks[w].wire.connections.push_back(between(name, "10.0.0.9:9"));
    server.connections.push_back(between("10.0.0.9:9", name));
    run.ranks[w].wire.transfers = {moved(true, 1000 - behind[w], 1, 0, 8),
                                   moved(false, 2000 - behind[w], 10, 0, 8)};
    WireTransfer in = moved(false, 8000, 10, 0, 8);
    WireTransfer out = moved(true, 9000, 1, 0, 8);
    in.connection = out.connection = w;
    server.transfers.push_back(in);
    server.transfers.push_back(out);
  }
  const std::vector<ClockTie> ties = ties_between_ranks(run, clock_ties(run));
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(std::tie(ties[0].first, ties[0].second), std::tuple(0u, 1u));
  EXPECT_EQ(ties[0].low, 480);
  EXPECT_EQ(ties[0].high, 520);
}

}  // namespace
}  // namespace weft::trace
