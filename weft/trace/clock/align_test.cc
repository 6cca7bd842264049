// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "weft/trace/clock/jump.h"
#include "weft/trace/made_run.h"
#include "weft/trace/match/multi_rank_sets.h"
#include "weft/trace/match/wire_match.h"

namespace weft::trace {
namespace {

using Job = Run;  // inside a TEST, `Run` is a member of GoogleTest's class

Alignment align_run(const Job& run, Diagnostics& diagnostics) {
  return align(run, match_calls(run, diagnostics), {}, diagnostics);
}

Job with_clocks(const Job& run, const std::vector<WrongClock>& wrong) {
  Job copy = run;
  for (std::size_t r = 0; r < copy.ranks.size(); ++r) {
    put_wrong(copy.ranks[r], run.ranks[0].epoch, wrong[r]);
  }
  return copy;
}

const Alignment kTruth = [] {
  Alignment truth;
  truth.ranks.resize(8);
  return truth;
}();

TEST(Align, RecoversOffsetsWithinItsOwnUncertainty) {
  Diagnostics diagnostics;
  const Job run = made_run({});
  const std::vector<WrongClock> wrong = {
      {0}, {50 * kMillisecond}, {-50 * kMillisecond}, {2 * 3600 * kSecond}};
  const Alignment alignment = align_run(with_clocks(run, wrong), diagnostics);
  for (std::size_t r = 1; r < 4; ++r) {
    const ClockFit& fit = alignment.ranks[r];
    EXPECT_TRUE(fit.tied);
    EXPECT_EQ(fit.rate_ppb, 0);
    EXPECT_LT(fit.offset_uncertainty, 15 * kMicrosecond);
    EXPECT_GT(fit.offset_uncertainty, kMicrosecond);
    // Twice the 95 % interval, so that the test does not fail by chance.
    EXPECT_LE(std::abs(fit.offset + wrong[r].offset), 2 * fit.offset_uncertainty) << r;
    EXPECT_EQ(fit.samples, 60);
  }
  EXPECT_TRUE(diagnostics.empty());
}

TEST(Align, SingleEndsThatAreMillisecondsOffDoNotMatter) {
  Diagnostics diagnostics;
  Job run = made_run({});
  for (std::size_t i = 3; i < 60; i += 6) run.ranks[2].events.duration[i] -= 4 * kMillisecond;
  const Alignment alignment = align_run(run, diagnostics);
  EXPECT_LT(std::abs(alignment.ranks[2].offset), 15 * kMicrosecond);
}

TEST(Align, RecoversDriftOverAMinute) {
  Diagnostics diagnostics;
  MadeJob job;
  job.count = 600;
  job.period = 100 * kMillisecond;
  job.jitter = 100 * kMicrosecond;
  const Job run = made_run(job);
  const std::vector<WrongClock> wrong = {{0},
                                         {50 * kMillisecond, 50'000, 0},
                                         {-20 * kMillisecond, -50'000, 0},
                                         {3 * kMillisecond, 0, 0}};
  const Alignment alignment = align_run(with_clocks(run, wrong), diagnostics);
  EXPECT_LT(recovery_error(run, kTruth, wrong, alignment), 50 * kMicrosecond);
  EXPECT_NEAR(static_cast<double>(alignment.ranks[1].rate_ppb), -50'000, 500);
  EXPECT_LT(alignment.ranks[1].rate_uncertainty_ppb, 1'000);
  EXPECT_EQ(diagnostics.count_of("clock-jump"), 0);
}

TEST(Align, DriftOfTheReferenceAppearsAsOppositeDriftOfAllOthers) {
  Diagnostics diagnostics;
  MadeJob job;
  job.count = 600;
  job.period = 100 * kMillisecond;
  const Job run = made_run(job);
  const std::vector<WrongClock> wrong = {{0, 50'000, 0}, {0}, {0}, {0}};
  const Alignment alignment = align_run(with_clocks(run, wrong), diagnostics);
  EXPECT_LT(recovery_error(run, kTruth, wrong, alignment), 50 * kMicrosecond);
}

TEST(Align, ShortRecordingsGiveNoFalseSlope) {
  // Three seconds of collectives. The ends of their members differ by milliseconds, as over slow
  // sockets.
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Diagnostics diagnostics;
    MadeJob job;
    job.count = 30;
    job.period = 100 * kMillisecond;
    job.jitter = 5 * kMillisecond;
    job.seed = seed;
    const Alignment alignment = align_run(made_run(job), diagnostics);
    for (std::size_t r = 1; r < 4; ++r) {
      EXPECT_EQ(alignment.ranks[r].rate_ppb, 0);
      EXPECT_GT(alignment.ranks[r].rate_uncertainty_ppb,
                100'000);  // the rate is reported as unknown
    }
    EXPECT_EQ(diagnostics.count_of("clock-jump"), 0);
  }
}

TEST(Align, IntervalsCoverTheTruthAboutAsOftenAsTheyPromise) {
  int inside = 0;
  int all = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Diagnostics diagnostics;
    MadeJob job;
    job.ranks = 3;
    job.count = 40;
    job.seed = seed;
    const Alignment alignment = align_run(made_run(job), diagnostics);
    for (std::size_t r = 1; r < 3; ++r) {
      ++all;
      inside += std::abs(alignment.ranks[r].offset) <= alignment.ranks[r].offset_uncertainty;
    }
  }
  EXPECT_GE(inside, all * 85 / 100);
}

TEST(Align, ClockJumpIsReportedAndTheLongerPartIsUsed) {
  for (const int ranks : {2, 4}) {
    Diagnostics diagnostics;
    MadeJob job;
    job.ranks = ranks;
    Job run = made_run(job);
    for (std::size_t i = 40; i < 60; ++i) run.ranks[1].events.start[i] += 30 * kMillisecond;
    const Alignment alignment = align_run(run, diagnostics);
    EXPECT_EQ(diagnostics.count_of("clock-jump"), 1) << ranks;
    for (const Diagnostic& d : diagnostics.all()) {
      if (std::string(d.kind->id) == "clock-jump") {
        EXPECT_NE(d.places[0].find("rank 1"), std::string::npos) << d.places[0];
        EXPECT_NE(d.places[0].find("by 30."), std::string::npos) << d.places[0];
      }
    }
    EXPECT_LT(std::abs(alignment.ranks[1].offset), 20 * kMicrosecond);
    EXPECT_EQ(alignment.ranks[1].samples, 40);
  }
}

TEST(ClockJump, DriftAndOutliersAreNotJumps) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 50e3);
  std::vector<double> times, steady, drifting, jumping;
  for (int i = 0; i < 200; ++i) {
    times.push_back(i);
    const double outlier = i % 17 == 0 ? 5e6 : 0;
    steady.push_back(noise(random) + outlier);
    drifting.push_back(noise(random) + outlier + 20e3 * i);
    jumping.push_back(noise(random) + outlier + (i < 150 ? 0 : 2e6));
  }
  EXPECT_FALSE(find_jump(times, steady));
  EXPECT_FALSE(find_jump(times, drifting));
  const auto jump = find_jump(times, jumping);
  ASSERT_TRUE(jump);
  EXPECT_NEAR(static_cast<double>(jump->at), 150, 2);
  EXPECT_NEAR(jump->size, 2e6, 50e3);
}

TEST(Align, RankWithoutCommunicationIsReportedAndNotMoved) {
  Diagnostics diagnostics;
  Job run = made_run({});
  MadeRank loner(4, 5);
  loner.kernel("gemm", kSecond, 1000);
  run.ranks.push_back(loner.trace);
  run.ranks[4].epoch = 12345;
  const Alignment alignment = align_run(run, diagnostics);
  EXPECT_FALSE(alignment.ranks[4].tied);
  EXPECT_EQ(alignment.ranks[4].offset, 0);
  EXPECT_EQ(diagnostics.count_of("clock-untied"), 1);
}

TEST(Align, RanksOfOneHostAgreeUnlessTheDataContradict) {
  Job run = made_run({});
  for (RankTrace& rank : run.ranks) rank.host = "node-1";
  MadeRank loner(4, 5);  // a rank of this host that never communicates
  loner.kernel("gemm", kSecond, 1000);
  run.ranks.push_back(loner.trace);
  run.ranks[4].host = "node-1";
  Diagnostics fine;
  const Alignment agreed = align_run(run, fine);
  EXPECT_TRUE(agreed.ranks[4].tied);
  EXPECT_LT(std::abs(agreed.ranks[4].offset), 100 * kMicrosecond);
  EXPECT_EQ(fine.count_of("host-clocks-differ"), 0);

  run.ranks[2].epoch += 50 * kMillisecond;
  Diagnostics odd;
  const Alignment moved = align_run(run, odd);
  EXPECT_NEAR(static_cast<double>(moved.ranks[2].offset),
              static_cast<double>(agreed.ranks[2].offset - 50 * kMillisecond), 1000);
  EXPECT_EQ(odd.count_of("host-clocks-differ"), 1);
}

// Messages that wait in buffers tell nothing about clocks. The fast messages of the two directions
// bound the offset.
TEST(Align, LagOfMessagesIsNotTakenForAnOffset) {
  Diagnostics diagnostics;
  std::mt19937 random(2);
  Job run;
  std::vector<MadeRank> ranks = {MadeRank(0, 2), MadeRank(1, 2)};
  std::vector<Match> matches;
  Nanos t = kSecond;
  for (int k = 0; k < 60; ++k) {
    t += 10 * kMillisecond;
    const std::uint32_t from = k % 2;
    const Nanos wait = k % 3 == 0 ? std::uniform_int_distribution<Nanos>(0, 4'000'000)(random) : 0;
    const Nanos jitter = std::uniform_int_distribution<Nanos>(0, 60'000)(random);
    const auto sent = ranks[from].kernel("ncclDevKernel_SendRecv", t, 500'000);
    const auto received =
        ranks[1 - from].kernel("ncclDevKernel_SendRecv", t + 600'000 + wait + jitter, 5'000'000);
    Match m;
    m.kind = CollectiveKind::kSendRecv;
    m.group_size = 2;
    m.bytes = 4096;
    m.members = {{from, sent}, {1 - from, received}};
    matches.push_back(m);
  }
  for (MadeRank& rank : ranks) run.ranks.push_back(std::move(rank.trace));
  run.ranks[1].epoch = 77 * kMillisecond;
  const Alignment alignment = align(run, matches, {}, diagnostics);
  EXPECT_LT(std::abs(alignment.ranks[1].offset + 77 * kMillisecond), 50 * kMicrosecond);
}

TEST(Align, ApplyMovesEverythingToOneEpoch) {
  Job run;
  run.ranks.push_back(MadeRank(0, 2).trace);
  MadeRank second(1, 2);
  second.kernel("gemm", 2 * kSecond, kSecond);
  second.trace.steps.push_back({1, 0, kSecond, 2 * kSecond});
  second.trace.flows.push_back({5, 0, kSecond, true});
  second.trace.epoch = 500;
  run.ranks.push_back(second.trace);
  run.ranks[0].epoch = 100;
  Alignment alignment;
  alignment.epoch = 100;
  alignment.origin = kSecond + 400;
  alignment.ranks.resize(2);
  alignment.ranks[1].offset = -7;
  alignment.ranks[1].rate_ppb = 1000;
  apply(run, alignment);
  const RankTrace& moved = run.ranks[1];
  EXPECT_EQ(moved.epoch, 100);
  EXPECT_EQ(moved.events.start[0], kSecond + 400 - 7);
  EXPECT_EQ(moved.events.duration[0], kSecond + 1000);
  EXPECT_EQ(moved.steps[0].start, kSecond + 393);
  EXPECT_EQ(moved.steps[0].end, 2 * kSecond + 393 + 1000);
  EXPECT_EQ(moved.flows[0].time, kSecond + 393);
}

/// Adds a connection between two processes, with one message in each direction every `period`. The
/// clock of the second process is `ahead` of the clock of the first process. A transfer takes 40 to
/// 140 us.
void talk(Wire& first, Wire& second, const std::string& a, const std::string& b, Nanos ahead,
          Nanos length, Nanos period = 50 * kMillisecond) {
  std::mt19937 random(3);
  WireConnection connection;
  connection.local = a;
  connection.peer = b;
  first.connections.push_back(connection);
  std::swap(connection.local, connection.peer);
  second.connections.push_back(connection);
  const auto c1 = static_cast<std::uint32_t>(first.connections.size() - 1);
  const auto c2 = static_cast<std::uint32_t>(second.connections.size() - 1);
  std::int64_t offset = 0;
  for (Nanos t = 0; t < length; t += period, offset += 100) {
    const auto way = [&] { return static_cast<Nanos>(40'000 + random() % 100'000); };
    const Nanos there = t + way();
    const Nanos back = t + kMillisecond + way();
    first.transfers.push_back({t, 1000, 100, offset, c1, true});
    second.transfers.push_back({there + ahead - 500, 500, 100, offset, c2, false});
    second.transfers.push_back({t + kMillisecond + ahead, 1000, 100, offset, c2, true});
    first.transfers.push_back({back - 500, 500, 100, offset, c1, false});
  }
}

TEST(Align, TransfersAlignRanksThatShareNoCollective) {
  Job run;
  for (int rank = 0; rank < 2; ++rank) run.ranks.push_back(MadeRank(rank, 2).trace);
  talk(run.ranks[0].wire, run.ranks[1].wire, "10.0.0.1:1", "10.0.0.2:2", 50 * kMillisecond,
       3 * kSecond);
  Diagnostics diagnostics;
  const Alignment alignment = align_run(run, diagnostics);
  const ClockFit& fit = alignment.ranks[1];
  EXPECT_TRUE(fit.tied);
  EXPECT_LT(std::abs(fit.offset + 50 * kMillisecond), 50 * kMicrosecond);
  EXPECT_LT(std::abs(fit.offset + 50 * kMillisecond), 2 * fit.offset_uncertainty);
  EXPECT_EQ(diagnostics.count_of("clock-untied"), 0);
}

TEST(Align, TransfersOutweighCollectivesThatEndFarApart) {
  MadeJob job;
  job.ranks = 2;
  job.count = 8;
  job.jitter = 450 * kMicrosecond;
  Job run = with_clocks(made_run(job), {{0}, {50 * kMillisecond}});
  Diagnostics ignored;
  const Nanos without = std::abs(align_run(run, ignored).ranks[1].offset + 50 * kMillisecond);
  talk(run.ranks[0].wire, run.ranks[1].wire, "10.0.0.1:1", "10.0.0.2:2",
       50 * kMillisecond - (run.ranks[1].epoch - run.ranks[0].epoch), 2 * kSecond);
  Diagnostics diagnostics;
  const Alignment alignment = align_run(run, diagnostics);
  EXPECT_GT(without, 100 * kMicrosecond);
  EXPECT_LT(std::abs(alignment.ranks[1].offset + 50 * kMillisecond), 30 * kMicrosecond);
}

TEST(Align, WorkersAndTheirServerGetOneClock) {
  Job run;
  for (int rank = 0; rank < 2; ++rank) run.ranks.push_back(MadeRank(rank, 2).trace);
  run.bystanders.resize(1);
  // Relative to the clock of worker 0, the clock of the server is 7 s ahead and the clock of worker
  // 1 is half a second behind.
  Wire& server = run.bystanders[0].wire;
  talk(run.ranks[0].wire, server, "10.0.0.1:1", "10.0.0.9:9", 7 * kSecond, kSecond);
  talk(run.ranks[1].wire, server, "10.0.0.2:1", "10.0.0.9:9", 7 * kSecond + kSecond / 2, kSecond);
  Diagnostics diagnostics;
  const Alignment alignment = align_run(run, diagnostics);
  EXPECT_TRUE(alignment.ranks[1].tied);
  EXPECT_LT(std::abs(alignment.ranks[1].offset - kSecond / 2), 100 * kMicrosecond);
  ASSERT_EQ(alignment.bystanders.size(), 1u);
  EXPECT_LT(std::abs(alignment.bystanders[0] + 7 * kSecond), 50 * kMicrosecond);
  apply(run, alignment);
  for (const WirePair& pair : match_transfers(run)) {
    EXPECT_GT(one_way(run, pair), 0);
    EXPECT_LT(one_way(run, pair), 300 * kMicrosecond);
  }
}

TEST(Align, AcceptsEmptyAndSingleRankRuns) {
  Diagnostics diagnostics;
  EXPECT_TRUE(align_run(Job{}, diagnostics).ranks.empty());
  MadeJob job;
  job.ranks = 1;
  const Alignment alignment = align_run(made_run(job), diagnostics);
  ASSERT_EQ(alignment.ranks.size(), 1u);
  EXPECT_EQ(alignment.ranks[0].offset, 0);
}

}  // namespace
}  // namespace weft::trace
