// SPDX-License-Identifier: Apache-2.0
#include "weft/record/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "weft/record/made_folder.h"

namespace weft::record {
namespace {

TEST(Folder, ListsTracesAndFactsOfRanks) {
  const MadeFolder folder("weft-folder");
  folder.put("r1.kineto.json.gz", "12345");
  folder.put("r0.kineto.json.gz", "123");
  folder.put("host-12.wire.weftlog", "1");
  folder.put("r0.job.json",
             R"({"framework": "torch", "rank": 0, "world": 2, "recorded_steps": [10, 11]})");
  folder.put("notes.txt", "mine");
  const auto found = look_at(folder.path());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->traces.size(), 3u);
  EXPECT_EQ(found->traces[1].name, "r0.kineto.json.gz");
  EXPECT_EQ(found->traces[2].bytes, 5);
  EXPECT_EQ(found->ranks(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(found->world(), 2);
  EXPECT_EQ(found->jobs.at(0).recorded_steps, (std::vector<std::int64_t>{10, 11}));
  EXPECT_TRUE(found->has_profile());
  EXPECT_FALSE(found->has_mpi());
}

TEST(Folder, ThatDoesNotExistIsEmpty) {
  const auto found = look_at("/no/such/folder");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->traces.empty());
}

TEST(Folder, TidyUpKeepsFilesOfRunningProcesses) {
  const MadeFolder folder("weft-tidy");
  folder.put(".r0.claim", "");
  folder.put(".r0.kineto.json.gz.12.part", "half");
  folder.put(".r1.claim", "");
  folder.put(".r1.kineto.json.gz.13.part", "half");
  folder.put(".notes/a.json", "{}");
  const int held = ::open((folder.path() + "/.r1.claim").c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_EQ(look_at(folder.path())->running, 1);
  EXPECT_EQ(look_at(folder.path())->claims, 2);
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

TEST(Folder, ClearRemovesTheRecordingAndNothingElse) {
  const MadeFolder folder("weft-clear");
  folder.put("r0.kineto.json.gz", "1");
  folder.put("r0.job.json", "{}");
  folder.put(".r0.claim", "");
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
