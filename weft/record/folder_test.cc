// SPDX-License-Identifier: Apache-2.0
#include "weft/record/folder.h"

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

std::string only_reason(const MadeFolder& folder) {
  const auto reasons = why_empty(*look_at(folder.path()));
  return reasons.size() == 1 ? reasons.front() : std::to_string(reasons.size()) + " reasons";
}

TEST(Folder, ListsTracesAndWhatRanksSay) {
  const MadeFolder folder("weft-folder");
  folder.put("r1.kineto.json.gz", "12345");
  folder.put("r0.kineto.json.gz", "123");
  folder.put("host-12.wire.weftlog", "1");
  folder.put("r0.job.json", job(0, 20, "10, 11"));
  folder.put("notes.txt", "mine");
  const auto found = look_at(folder.path());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->traces.size(), 3u);
  EXPECT_EQ(found->traces[1].name, "r0.kineto.json.gz");
  EXPECT_EQ(found->traces[2].bytes, 5);
  EXPECT_EQ(found->ranks(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(found->world(), 2);
  EXPECT_EQ(found->jobs.at(0).recorded_steps, (std::vector<std::int64_t>{10, 11}));
  EXPECT_TRUE(why_empty(*found).empty());
}

TEST(Folder, ThatDoesNotExistIsEmpty) {
  const auto found = look_at("/no/such/folder");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->traces.empty());
}

TEST(Folder, AJobThatWasTooShortIsToldWhatItHasRoomFor) {
  const MadeFolder folder("weft-short");
  folder.put("r0.job.json", job(0, 7, ""));
  EXPECT_EQ(only_reason(folder),
            "the job took 7 steps, and recording begins at step 10; run it longer, or ask for "
            "--steps 2..6");
}

TEST(Folder, AJobOfOneStepIsOnlyToldToRunLonger) {
  const MadeFolder folder("weft-one");
  folder.put("r0.job.json", job(0, 1, ""));
  EXPECT_EQ(only_reason(folder),
            "the job took 1 step, and recording begins at step 10; run it longer");
}

TEST(Folder, ProblemsOfRanksAreTheReasonEachOnce) {
  const MadeFolder folder("weft-problem");
  folder.put("r0.job.json", job(0, 20, "", R"("OSError: disk full")"));
  folder.put("r1.job.json", job(1, 20, "", R"("OSError: disk full")"));
  EXPECT_EQ(only_reason(folder), "it went wrong: OSError: disk full");
}

TEST(Folder, NotesTellWhetherAFrameworkWasThere) {
  const MadeFolder folder("weft-notes");
  EXPECT_TRUE(only_reason(folder).starts_with("no Python process"));
  folder.put(".notes/a.json", R"({"program": "tool.py", "frameworks": []})");
  EXPECT_EQ(only_reason(folder),
            "Python ran (tool.py), but imported none of torch, tensorflow, jax and mxnet");
  folder.put(".notes/b.json", R"({"program": "train.py", "frameworks": ["torch"]})");
  EXPECT_TRUE(only_reason(folder).starts_with("torch was imported, but no training step"));
}

TEST(Folder, TidyingLeavesAloneWhatALivingProcessHolds) {
  const MadeFolder folder("weft-tidy");
  folder.put(".r0.claim", "");
  folder.put(".r0.kineto.json.gz.12.part", "half");
  folder.put(".r1.claim", "");
  folder.put(".r1.kineto.json.gz.13.part", "half");
  folder.put(".notes/a.json", "{}");
  const int held = ::open((folder.path() + "/.r1.claim").c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_EQ(look_at(folder.path())->running, 1);
  tidy_up(folder.path());
  EXPECT_FALSE(folder.has(".r0.claim"));
  EXPECT_FALSE(folder.has(".r0.kineto.json.gz.12.part"));
  EXPECT_TRUE(folder.has(".r1.claim"));
  EXPECT_TRUE(folder.has(".r1.kineto.json.gz.13.part"));
  EXPECT_TRUE(folder.has(".notes"));
  ::close(held);
  EXPECT_EQ(look_at(folder.path())->running, 0);
  tidy_up(folder.path());
  EXPECT_FALSE(folder.has(".r1.claim"));
  EXPECT_FALSE(folder.has(".notes"));
}

TEST(Folder, ClearingTakesTheRecordingAndNothingElse) {
  const MadeFolder folder("weft-clear");
  folder.put("r0.kineto.json.gz", "1");
  folder.put("r0.job.json", "{}");
  folder.put(".r0.claim", "me");
  folder.put(".notes/a.json", "{}");
  folder.put("train.py", "mine");
  folder.put("links.json", "mine");
  ASSERT_TRUE(clear_recording(folder.path()));
  EXPECT_FALSE(folder.has("r0.kineto.json.gz"));
  EXPECT_FALSE(folder.has("r0.job.json"));
  EXPECT_FALSE(folder.has(".r0.claim"));
  EXPECT_FALSE(folder.has(".notes"));
  EXPECT_TRUE(folder.has("train.py"));
  EXPECT_TRUE(folder.has("links.json"));
}

}  // namespace
}  // namespace weft::record
