// SPDX-License-Identifier: Apache-2.0
#include "weft/record/reasons.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "weft/record/made_folder.h"

namespace weft::record {
namespace {

std::string job(int rank, int seen, const std::string& recorded, const std::string& problems = "") {
  return R"({"framework": "torch", "rank": )" + std::to_string(rank) +
         R"(, "world": 2, "asked_steps": [10, 14], "steps_seen": )" + std::to_string(seen) +
         R"(, "recorded_steps": [)" + recorded + R"(], "problems": [)" + problems + "]}";
}

std::string only_reason(const MadeFolder& folder, bool mpi = false) {
  const auto reasons = why_empty(*look_at(folder.path()), mpi);
  return reasons.size() == 1 ? reasons.front() : std::to_string(reasons.size()) + " reasons";
}

TEST(Reasons, ThereAreNoneIfThereIsAProfile) {
  const MadeFolder folder("weft-profile");
  folder.put("r0.kineto.json.gz", "123");
  folder.put("r1.job.json", job(1, 20, "", R"("OSError: disk full")"));
  EXPECT_TRUE(why_empty(*look_at(folder.path()), false).empty());
}

TEST(Reasons, AProcessThatDiedInItsProfilerIsNamed) {
  const MadeFolder folder("weft-lost");
  folder.put(".r0.claim", "");
  folder.put(".r1.claim", "tensorflow");
  const std::string reason =
      "r1, tensorflow: this process died while the framework's profiler was stopping; record again";
  EXPECT_EQ(only_reason(folder), reason);
  folder.put("r0.xplane.pb", "123");
  EXPECT_TRUE(why_empty(*look_at(folder.path()), false).empty());
  EXPECT_EQ(why_lost(*look_at(folder.path())), std::vector<std::string>{reason});
}

TEST(Reasons, AProcessThatIsEndingItsProfilerIsNotLost) {
  const MadeFolder folder("weft-ending");
  folder.put(".r1.claim", "tensorflow");
  const int held = ::open((folder.path() + "/.r1.claim").c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_TRUE(why_lost(*look_at(folder.path())).empty());
  ::close(held);
}

TEST(Reasons, AJobThatWasTooShortGetsStepsThatFit) {
  const MadeFolder folder("weft-short");
  folder.put("r0.job.json", job(0, 7, ""));
  EXPECT_EQ(only_reason(folder),
            "the job took 7 steps, and recording begins at step 10; run it longer, or use "
            "--steps 2..6");
}

TEST(Reasons, AJobOfOneStepIsOnlyToldToRunLonger) {
  const MadeFolder folder("weft-one");
  folder.put("r0.job.json", job(0, 1, ""));
  EXPECT_EQ(only_reason(folder),
            "the job took 1 step, and recording begins at step 10; run it longer");
}

TEST(Reasons, EachProblemOfRanksIsNamedOnce) {
  const MadeFolder folder("weft-problem");
  folder.put("r0.job.json", job(0, 20, "", R"("OSError: disk full")"));
  folder.put("r1.job.json", job(1, 20, "", R"("OSError: disk full")"));
  EXPECT_EQ(only_reason(folder), "a process reported a problem: OSError: disk full");
}

TEST(Reasons, NotesTellWhetherAFrameworkWasImported) {
  const MadeFolder folder("weft-notes");
  EXPECT_TRUE(only_reason(folder).starts_with("no Python process"));
  folder.put(".notes/a.json", R"({"program": "tool.py", "frameworks": []})");
  EXPECT_EQ(only_reason(folder),
            "Python ran (tool.py), but imported none of torch, tensorflow, jax and mxnet; use "
            "--mpi to record MPI calls");
  folder.put(".notes/b.json", R"({"program": "train.py", "frameworks": ["jax"]})");
  EXPECT_TRUE(only_reason(folder).starts_with(
      "jax was imported, but no training step was seen: a step ends with a call, from Python, of a "
      "function of jax.jit"));
}

TEST(Reasons, TransfersWithoutProfileMeanThatTheProfileWasLost) {
  const MadeFolder folder("weft-lost");
  folder.put("host-12.wire.weftlog", "1");
  EXPECT_TRUE(only_reason(folder).starts_with("processes took training steps, but none wrote"));
  folder.put("r0.job.json", job(0, 20, "", R"("OSError: disk full")"));
  EXPECT_EQ(only_reason(folder), "a process reported a problem: OSError: disk full");
}

TEST(Reasons, AClaimWithoutFactsMeansThatTheProcessCouldNotWrite) {
  const MadeFolder folder("weft-claim");
  folder.put(".r0.claim", "");
  EXPECT_TRUE(only_reason(folder).starts_with("processes took training steps, but none wrote"));
  const int held = ::open((folder.path() + "/.r0.claim").c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_TRUE(only_reason(folder).starts_with("processes that take training steps are still"));
  ::close(held);
}

TEST(Reasons, MpiCallsAreARecordingIfTheyWereRequested) {
  const MadeFolder folder("weft-mpi");
  folder.put("host-12.wire.weftlog", "1");
  EXPECT_EQ(only_reason(folder, true),
            "no process has called the MPI library that Weft was built with");
  folder.put("r0.mpi.weftlog", "1");
  EXPECT_TRUE(why_empty(*look_at(folder.path()), true).empty());
  EXPECT_FALSE(why_empty(*look_at(folder.path()), false).empty());
}

}  // namespace
}  // namespace weft::record
