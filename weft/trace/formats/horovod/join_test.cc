// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/horovod/join.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {
namespace {

using Job = Run;  // inside a TEST body, Run is a member of GoogleTest's class

/// Makes a run of two ranks. It is either a timeline or a set of profiles. The timeline has one
/// all-reduce at 500 us and one all-reduce long before the profiles. The profiles begin 400 us
/// after the timeline.
Job made(bool timeline) {
  Job job;
  for (std::int32_t r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    rank.trace.file = timeline ? "t/horovod.json" : "t/r" + std::to_string(r) + ".json";
    rank.trace.format = timeline ? "horovod" : "kineto";
    rank.trace.epoch = timeline ? 0 : 400 * kMicrosecond;
    if (timeline) {
      rank.describe(rank.kernel("ALLREDUCE (w)", 50 * kMicrosecond, 9 * kMicrosecond), "ALLREDUCE",
                    9);
      rank.describe(rank.kernel("ALLREDUCE (w)", 520 * kMicrosecond, 20 * kMicrosecond),
                    "ALLREDUCE", 100, "horovod");
    } else {
      rank.host("backward", 0, 90 * kMicrosecond);
      rank.host("update", 125 * kMicrosecond, 50 * kMicrosecond);
    }
    job.ranks.push_back(std::move(rank.trace));
  }
  return job;
}

TEST(HorovodJoin, CollectivesOfTheTimelineAreAddedToTheProfilesInItsFolder) {
  std::vector<Job> runs = {made(true), made(false)};
  Diagnostics diagnostics;
  join_horovod(runs, diagnostics);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(diagnostics.count_of("timeline-joined"), 1);
  for (const RankTrace& rank : runs[0].ranks) {
    const auto calls = communication_calls(rank, resolve_launches(rank));
    ASSERT_EQ(calls.size(), 1u) << "collectives before the profile are left out";
    EXPECT_EQ(calls[0].kind, CollectiveKind::kAllReduce);
    EXPECT_EQ(calls[0].bytes, 400);
    EXPECT_EQ(rank.events.start[calls[0].event], 100 * kMicrosecond);
  }
}

TEST(HorovodJoin, ProfilesThatShowCommunicationAreNotChanged) {
  std::vector<Job> runs = {made(false), made(true)};
  for (RankTrace& trace : runs[0].ranks) {
    MadeRank rank(trace.rank, 2);
    rank.trace = std::move(trace);
    rank.describe(rank.kernel("ncclDevKernel_AllReduce", 100 * kMicrosecond, 10), "allreduce", 5);
    trace = std::move(rank.trace);
  }
  Diagnostics diagnostics;
  join_horovod(runs, diagnostics);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(diagnostics.count_of("timeline-left-out"), 1);
}

TEST(HorovodJoin, TimelinesOfAnotherTimeOrFolderStay) {
  std::vector<Job> runs = {made(true), made(false)};
  for (RankTrace& trace : runs[1].ranks) trace.epoch = kSecond;
  Diagnostics diagnostics;
  join_horovod(runs, diagnostics);
  EXPECT_EQ(runs.size(), 2u);
  for (RankTrace& trace : runs[1].ranks) trace.file = "other/" + trace.file, trace.epoch = 0;
  join_horovod(runs, diagnostics);
  EXPECT_EQ(runs.size(), 2u);
}

}  // namespace
}  // namespace weft::trace
