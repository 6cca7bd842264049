// SPDX-License-Identifier: Apache-2.0
// Tests of matching and alignment on real recordings; skipped if these are not available.
#include "weft/trace/match/multi_rank_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::trace {
namespace {

using Job = Run;  // inside a TEST, `Run` is a member of GoogleTest's class

const std::vector<MultiRankSet>& sets() {
  static const std::vector<MultiRankSet> list =
      multi_rank_sets(WEFT_SOURCE_DIR "/../shared/traces");
  return list;
}

Job load_set(const MultiRankSet& set) {
  Diagnostics diagnostics;
  LoadOptions options;
  options.run = set.run;
  auto recording = load(set.inputs, options, diagnostics);
  EXPECT_TRUE(recording) << set.name << ": " << recording.error().text();
  if (!recording) return {};
  EXPECT_EQ(recording->runs.size(), 1u) << set.name;
  return std::move(recording->runs.front());
}

/// The time between the first and the last end of a match.
struct Agreement {
  Nanos median = 0;
  Nanos worst = 0;
};
Agreement agreement(const Job& run, const std::vector<Match>& matches, const Alignment& alignment) {
  const std::vector<Nanos> spreads = end_spreads(run, matches, alignment);
  if (spreads.empty()) return {};
  return {spreads[spreads.size() / 2], spreads.back()};
}

TEST(MultiRank, EndsOfMatchedCallsAgreeAndNoMatchIsShifted) {
  if (sets().empty()) GTEST_SKIP() << "no recordings beside the source tree";
  for (const MultiRankSet& set : sets()) {
    const Job run = load_set(set);
    ASSERT_FALSE(run.ranks.empty());
    Diagnostics diagnostics;
    const auto matches = match_calls(run, diagnostics);
    const Alignment alignment = align(run, matches, {}, diagnostics);
    const Agreement a = agreement(run, matches, alignment);
    // Over loopback sockets, the ends of an all-reduce of resnet50 differ by up to 0.7 ms. A
    // message of a pipeline is received 0.6 ms after it was sent, or milliseconds if the receiver
    // is busy.
    const bool slow = set.messages || set.name == "resnet50-w4";
    EXPECT_LT(a.median, slow ? 700 * kMicrosecond : 120 * kMicrosecond) << set.name;
    // In a match that is shifted by one call, the ends differ by a whole gap between calls.
    EXPECT_LT(a.worst, 8 * kMillisecond) << set.name;
    EXPECT_EQ(diagnostics.count_of("message-peer-unknown"), 0) << set.name;
    EXPECT_EQ(diagnostics.count_of("clock-jump"), 0) << set.name;
    // Only calls at the begin and the end of the window have no partner, because not all ranks
    // recorded them.
    std::size_t complete = 0;
    for (const Match& m : matches) complete += m.complete() ? 1 : 0;
    EXPECT_GE(complete * 10, matches.size() * 9) << set.name;
  }
}

TEST(MultiRank, OffsetsOfFiftyMillisecondsAreRecovered) {
  if (sets().empty()) GTEST_SKIP() << "no recordings beside the source tree";
  std::mt19937 random(11);
  std::uniform_int_distribution<Nanos> pick(-50 * kMillisecond, 50 * kMillisecond);
  for (const MultiRankSet& set : sets()) {
    const Job run = load_set(set);
    Diagnostics diagnostics;
    const Alignment untouched = align(run, match_calls(run, diagnostics), {}, diagnostics);
    std::vector<WrongClock> wrong(run.ranks.size());
    for (WrongClock& w : wrong) w.offset = pick(random);
    Job moved = run;
    for (std::size_t r = 0; r < moved.ranks.size(); ++r) {
      put_wrong(moved.ranks[r], run.ranks[0].epoch, wrong[r]);
    }
    const Alignment found = align(moved, match_calls(moved, diagnostics), {}, diagnostics);
    EXPECT_LE(recovery_error(run, untouched, wrong, found), 50 * kMicrosecond) << set.name;
  }
}

TEST(MultiRank, DriftOfFiftyPpmIsRecoveredOnLongTimelines) {
  if (sets().empty()) GTEST_SKIP() << "no recordings beside the source tree";
  for (const MultiRankSet& set : sets()) {
    if (!set.phases) continue;
    const Job run = load_set(set);
    Diagnostics diagnostics;
    const Alignment untouched = align(run, match_calls(run, diagnostics), {}, diagnostics);
    std::vector<WrongClock> wrong(run.ranks.size());
    for (std::size_t r = 0; r < wrong.size(); ++r) {
      wrong[r] = {static_cast<Nanos>(r) * 7 * kMillisecond, r % 2 == 1 ? 50'000 : -50'000, 0};
    }
    wrong[0] = {};
    Job moved = run;
    for (std::size_t r = 0; r < moved.ranks.size(); ++r) {
      put_wrong(moved.ranks[r], run.ranks[0].epoch, wrong[r]);
    }
    const Alignment found = align(moved, match_calls(moved, diagnostics), {}, diagnostics);
    EXPECT_LE(recovery_error(run, untouched, wrong, found), 50 * kMicrosecond) << set.name;
    EXPECT_EQ(diagnostics.count_of("clock-jump"), 0) << set.name;
  }
}

}  // namespace
}  // namespace weft::trace
