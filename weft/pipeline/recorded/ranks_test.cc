// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/ranks.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::pipeline::recorded {
namespace {

constexpr const char* kMessageKernel = "ncclDevKernel_SendRecv(args)";

/// One rank of four that sends to `peers` and, if asked to, takes part in an all-reduce of all
/// ranks.
trace::RankTrace talks_to(std::int32_t rank, const std::vector<std::int32_t>& peers,
                          bool reduces = false) {
  trace::MadeRank made(rank, 4);
  Nanos at = kMillisecond;
  for (const std::int32_t peer : peers) {
    made.describe(made.kernel(kMessageKernel, at += kMillisecond, 10), "send", 1000).dst = peer;
  }
  if (reduces) {
    made.describe(made.kernel(trace::kAllReduceKernel, at += kMillisecond, 10), "allreduce", 10);
  }
  return std::move(made.trace);
}

trace::Run run_of(std::vector<trace::RankTrace> ranks) {
  trace::Run run;
  run.world = 4;
  run.ranks = std::move(ranks);
  return run;
}

std::string why(const Status& status) { return status ? "" : status.error().message; }

TEST(RecordedRanks, PeersOfMessagesMustBeThere) {
  const trace::Run cut = run_of({talks_to(0, {1}), talks_to(1, {0, 2})});
  const std::string says =
      "ranks 2, 3 of the job are not recorded, but other ranks exchange messages with rank 2; give "
      "the "
      "files of all ranks";
  EXPECT_EQ(why(check_peers(cut)), says);
  EXPECT_EQ(why(check_all_ranks(cut)), says);
  const trace::Run middle = run_of({talks_to(0, {1}), talks_to(3, {2})});
  EXPECT_EQ(why(check_peers(middle)).find("ranks 1, 2 of the job are not recorded"), 0u);
}

TEST(RecordedRanks, ReplicasMayBeMissingUnlessSomethingWaitsForThem) {
  const trace::Run apart = run_of({talks_to(0, {1}), talks_to(1, {0})});
  EXPECT_EQ(why(check_peers(apart)), "");
  EXPECT_EQ(why(check_all_ranks(apart)), "");
  const trace::Run together = run_of({talks_to(0, {1}, true), talks_to(1, {0}, true)});
  EXPECT_EQ(why(check_peers(together)), "");
  EXPECT_EQ(
      why(check_all_ranks(together)),
      "ranks 2, 3 of the job are not recorded, but other ranks may wait for them in collectives; "
      "give the files of all ranks");
}

}  // namespace
}  // namespace weft::pipeline::recorded
