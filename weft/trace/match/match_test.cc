// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/match.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "weft/trace/made_run.h"
#include "weft/trace/match/multi_rank_sets.h"

namespace weft::trace {
namespace {

using Job = Run;  // inside a TEST, `Run` is a member of GoogleTest's class

constexpr const char* kSendRecvKernel = "ncclDevKernel_SendRecv(args)";

std::vector<Match> match(const Job& run) {
  Diagnostics diagnostics;
  return match_calls(run, diagnostics);
}

// In a synthetic run, the k-th kernel of every rank belongs to the k-th collective. `lost[r]` lists
// the collectives that were dropped on rank r.
using Lost = std::map<std::uint32_t, std::vector<std::uint32_t>>;

std::uint32_t original_index(std::uint32_t event, const std::vector<std::uint32_t>& lost) {
  for (const std::uint32_t gone : lost) {
    if (gone <= event) ++event;
  }
  return event;
}

/// Expects that all members of a match belong to the same collective, and that every kernel is in
/// the right match.
void expect_right(const Job& run, const std::vector<Match>& matches, const Lost& lost) {
  std::set<std::uint32_t> collectives;
  std::size_t members = 0;
  for (const Match& m : matches) {
    std::set<std::uint32_t> truth;
    for (const Member& member : m.members) {
      const auto gone = lost.find(member.rank);
      truth.insert(gone == lost.end() ? member.event : original_index(member.event, gone->second));
    }
    EXPECT_EQ(truth.size(), 1u) << "match " << m.sequence << " mixes collectives";
    EXPECT_TRUE(collectives.insert(*truth.begin()).second) << "collective split";
    members += m.members.size();
  }
  std::size_t kernels = 0;
  for (const RankTrace& r : run.ranks) kernels += r.events.size();
  EXPECT_EQ(members, kernels);
}

TEST(Match, HolesAtTheEdgesAndInsideShiftNothing) {
  for (const bool sizes : {true, false}) {
    MadeJob job;
    job.sizes = sizes;
    Job run = made_run(job);
    const Lost lost = {{1, {0, 1, 2}}, {2, {20, 21, 40}}, {3, {58, 59}}};
    for (const auto& [rank, events] : lost) drop_events(run.ranks[rank], events);
    expect_right(run, match(run), lost);
  }
}

TEST(Match, WorksWithClocksThatAreHoursApart) {
  Job run = made_run({});
  const Lost lost = {{0, {0}}, {3, {0, 1, 30}}};
  for (const auto& [rank, events] : lost) drop_events(run.ranks[rank], events);
  run.ranks[1].epoch += 50 * kMillisecond;
  run.ranks[2].epoch -= 7 * kSecond;
  run.ranks[3].epoch += 3 * 3600 * kSecond;
  expect_right(run, match(run), lost);
}

TEST(Match, WorksWithClocksThatDriftOrJump) {
  MadeJob job;
  job.count = 600;
  job.period = 100 * kMillisecond;
  Job run = made_run(job);
  const Lost lost = {{1, {0, 299}}, {2, {0, 1, 550}}};
  for (const auto& [rank, events] : lost) drop_events(run.ranks[rank], events);
  put_wrong(run.ranks[1], 0, {kMillisecond, 100'000, 0});
  for (std::size_t i = 400; i < run.ranks[2].events.size(); ++i) {
    run.ranks[2].events.start[i] += 35 * kMillisecond;
  }
  expect_right(run, match(run), lost);
}

TEST(Match, LongRecordingsAreMatchedInABand) {
  MadeJob job;
  job.ranks = 2;
  job.count = 3000;  // nine million pairs: too many for the full table
  job.sizes = false;
  Job run = made_run(job);
  const Lost lost = {{1, {0, 1, 2, 3, 4, 1500, 1501}}};
  drop_events(run.ranks[1], lost.at(1));
  run.ranks[1].epoch -= 40 * kSecond;
  expect_right(run, match(run), lost);
}

TEST(Match, SequenceNumbersDecideWhereRecorded) {
  // The ends on the second rank are random, so only the numbers can decide.
  std::vector<MadeRank> ranks = {MadeRank(0, 2), MadeRank(1, 2)};
  for (std::int64_t k = 0; k < 12; ++k) {
    for (MadeRank& rank : ranks) {
      if (rank.trace.rank == 1 && k % 4 == 1) continue;
      const Nanos end = (rank.trace.rank == 0 ? k : 30 + k * k) * kMillisecond;
      const auto kernel = rank.kernel(kAllReduceKernel, end, 1000);
      rank.describe(kernel, "allreduce", 64).sequence = 100 + k;
    }
  }
  Job run;
  for (MadeRank& rank : ranks) run.ranks.push_back(std::move(rank.trace));
  int complete = 0;
  for (const Match& m : match(run)) {
    EXPECT_EQ(m.complete(), (m.sequence - 100) % 4 != 1);
    complete += m.complete() ? 1 : 0;
    EXPECT_EQ(m.group_size, 2);
    EXPECT_EQ(m.bytes, 256);
  }
  EXPECT_EQ(complete, 9);
}

TEST(Match, UnknownSizesAreWildcardsAndAreFilledFromOtherMembers) {
  Job run = made_run({});
  // The sizes are not periodic, and only the last rank has them.
  for (RankTrace& rank : run.ranks) {
    for (std::size_t k = 0; k < rank.kernels.size(); ++k) {
      if (rank.rank != 3) rank.kernels[k].collective = kNone;
      rank.collectives[k].in_elements = static_cast<std::int64_t>(k * k + 1);
    }
  }
  const auto matches = match(run);
  expect_right(run, matches, {});
  EXPECT_EQ(matches[5].bytes, 4 * 26);
}

TEST(Match, RepeatedGroupNamesOfDisjointGroupsStayApart) {
  // Ranks 0 and 1 call their group "tp", and so do ranks 2 and 3. The two groups run at different
  // times.
  Job run;
  for (int r = 0; r < 4; ++r) {
    MadeRank rank(r, 4);
    std::mt19937 random(r / 2 + 5);
    Nanos t = 0;
    for (int k = 0; k < 20; ++k) {
      t += std::uniform_int_distribution<Nanos>(kMillisecond, 20 * kMillisecond)(random);
      rank.describe(rank.kernel(kAllReduceKernel, t, 1000), "allreduce", 64, "tp", 2);
    }
    run.ranks.push_back(std::move(rank.trace));
  }
  const auto matches = match(run);
  EXPECT_EQ(matches.size(), 40u);
  for (const Match& m : matches) {
    ASSERT_EQ(m.members.size(), 2u);
    EXPECT_EQ(m.members[0].rank / 2, m.members[1].rank / 2);
    EXPECT_EQ(m.members[0].event, m.members[1].event);
  }
}

TEST(Match, StreamsOfUnnamedGroupsFindTheirPartnersByTheirEnds) {
  // There are two communicators on two streams. Each rank numbers them differently, and no call has
  // arguments.
  Job run;
  for (int r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    for (const int group : {0, 1}) {
      std::mt19937 random(group + 5);
      Nanos t = 0;
      for (int k = 0; k < 30; ++k) {
        t += std::uniform_int_distribution<Nanos>(kMillisecond, 20 * kMillisecond)(random);
        rank.kernel(kAllReduceKernel, t + r * kMicrosecond, 1000, 0, 20 + (group ^ r));
      }
    }
    run.ranks.push_back(std::move(rank.trace));
  }
  const auto matches = match(run);
  EXPECT_EQ(matches.size(), 60u);
  for (const Match& m : matches) {
    ASSERT_EQ(m.members.size(), 2u);
    EXPECT_EQ(m.members[0].event, m.members[1].event);
  }
}

TEST(Match, GlooCollectivesMatchWhateverThreadRanThem) {
  Job run;
  for (int r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    for (int k = 0; k < 20; ++k) {
      const auto event = rank.annotation("gloo:all_reduce", (k * k + 1) * 5 * kMillisecond,
                                         3 * kMillisecond + r * 300 * kMicrosecond);
      rank.trace.events.lane[event] = (k * (r + 2)) % 3;
    }
    run.ranks.push_back(std::move(rank.trace));
  }
  const auto matches = match(run);
  EXPECT_EQ(matches.size(), 20u);
  for (const Match& m : matches) EXPECT_TRUE(m.complete());
}

// Ranks that share cores end their collectives at very different times. That does not matter if the
// file names the only group of the job.
TEST(Match, GlooCollectivesOfTheOnlyGroupMatchHoweverUnevenlyTheyEnd) {
  Job run;
  std::mt19937 random(5);
  std::uniform_int_distribution<Nanos> jitter(0, 12 * kMillisecond);
  for (int r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    rank.trace.groups.push_back({"0", "default_pg", {0, 1}});
    for (int k = 0; k < 20; ++k) {
      rank.annotation("gloo:all_reduce", k * 15 * kMillisecond, kMillisecond + jitter(random));
    }
    run.ranks.push_back(std::move(rank.trace));
  }
  const auto matches = match(run);
  EXPECT_EQ(matches.size(), 20u);
  for (const Match& m : matches) EXPECT_TRUE(m.complete());
}

// There are four all-reduces, one of them before the first step mark. Their ends would agree better
// if the matching were shifted by one call.
TEST(Match, StepMarksIdentifyGlooCollectives) {
  Job run;
  for (int r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    rank.trace.groups.push_back({"0", "default_pg", {0, 1}});
    for (int k = 0; k < 4; ++k) {
      const Nanos at = k * 4 * kMillisecond;
      if (k > 0) rank.trace.steps.push_back({k + 4, 0, at, at + 4 * kMillisecond});
      rank.annotation("gloo:all_reduce", at + kMillisecond, (r == 0 ? 5 : 1) * kMillisecond);
    }
    run.ranks.push_back(std::move(rank.trace));
  }
  for (const Match& m : match(run)) {
    ASSERT_EQ(m.members.size(), 2u);
    EXPECT_EQ(m.members[0].event, m.members[1].event);
  }
}

// Makes a pipeline of two ranks. Each step has two sends to the second rank, exchanges, and two
// sends back. Receives end later than their sends.
Job made_pipeline(int steps) {
  std::vector<MadeRank> ranks = {MadeRank(0, 2), MadeRank(1, 2)};
  std::mt19937 random(3);
  auto pick = [&](Nanos low, Nanos high) {
    return std::uniform_int_distribution<Nanos>(low, high)(random);
  };
  auto message = [](MadeRank& rank, Nanos end, Nanos duration, bool send, bool recv) {
    const auto kernel = rank.kernel(kSendRecvKernel, end, duration, 0, 16);
    const auto correlation = static_cast<std::uint32_t>(rank.trace.kernels.size());
    rank.trace.events.correlation[kernel] = correlation;
    const Nanos at = end - duration - 50 * kMicrosecond;
    for (const bool is_send : {true, false}) {
      if (is_send ? !send : !recv) continue;
      const auto op = rank.host("record_param_comms", at - (is_send ? 20'000 : 10'000), 5'000);
      CollectiveDetail& detail = rank.describe(op, is_send ? "send" : "recv", 1024);
      (is_send ? detail.dst : detail.src) = 1 - rank.trace.rank;
    }
    rank.runtime(at, 5'000, correlation);
  };
  Nanos t = kSecond;
  for (int s = 0; s < steps; ++s) {
    for (int k = 0; k < 2; ++k) {
      t += pick(2, 4) * kMillisecond;
      message(ranks[0], t, 600 * kMicrosecond, true, false);
      message(ranks[1], t + 600 * kMicrosecond, 900 * kMicrosecond, false, true);
    }
    for (int k = 0; k < 4; ++k) {
      t += pick(8, 12) * kMillisecond;
      message(ranks[0], t, 5 * kMillisecond, true, true);
      message(ranks[1], t - 50 * kMicrosecond, kMillisecond, true, true);
    }
    for (int k = 0; k < 2; ++k) {
      t += pick(4, 6) * kMillisecond;
      message(ranks[1], t, 600 * kMicrosecond, true, false);
      message(ranks[0], t + 600 * kMicrosecond, 2 * kMillisecond, false, true);
    }
    t += pick(20, 30) * kMillisecond;
  }
  Job run;
  run.world = 2;
  for (MadeRank& rank : ranks) run.ranks.push_back(std::move(rank.trace));
  return run;
}

TEST(Match, MessagesPairInOrderAndExchangesAreOneMatch) {
  Job run = made_pipeline(3);
  run.ranks[1].epoch += 80 * kMillisecond;
  const auto matches = match(run);
  ASSERT_EQ(matches.size(), 24u);
  int exchanges = 0;
  for (const Match& m : matches) {
    ASSERT_TRUE(m.is_message());
    ASSERT_EQ(m.members.size(), 2u);
    EXPECT_EQ(m.bytes, 4096);
    exchanges += m.bytes_back == 4096 ? 1 : 0;
    EXPECT_EQ(run.ranks[m.members[0].rank].events.correlation[m.members[0].event],
              run.ranks[m.members[1].rank].events.correlation[m.members[1].event]);
  }
  EXPECT_EQ(exchanges, 12);
}

TEST(Match, MessageOfAMissingRankStaysAlone) {
  Job run = made_pipeline(1);
  run.ranks.pop_back();
  Diagnostics diagnostics;
  const auto matches = match_calls(run, diagnostics);
  EXPECT_EQ(matches.size(), 12u);  // an exchange is two messages with an unknown peer
  for (const Match& m : matches) EXPECT_EQ(m.members.size(), 1u);
  EXPECT_EQ(diagnostics.count_of("incomplete-collective"), 12);
}

TEST(Match, NothingToMatchIsNoError) {
  EXPECT_TRUE(match(Job{}).empty());
  Job run;
  run.ranks.push_back(MadeRank(0, 1).trace);
  EXPECT_TRUE(match(run).empty());
}

}  // namespace
}  // namespace weft::trace
