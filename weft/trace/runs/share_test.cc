// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "weft/base/file.h"

namespace weft::trace {
namespace {

using Files = std::vector<std::string>;

TEST(Share, ASingleProcessGetsAllFiles) {
  const Files files{"a/r0.json", "a/r1.json", "b.json"};
  EXPECT_EQ(files_of_share(files, {}), files);
}

TEST(Share, FilesOfOneRankStayTogether) {
  const Files files{"a/r0.job.json",       "a/r0.kineto.json.gz", "a/r1.job.json",
                    "a/r1.kineto.json.gz", "a/r2.job.json",       "a/r2.kineto.json.gz"};
  EXPECT_EQ(files_of_share(files, {0, 2}), (Files{files[0], files[1], files[4], files[5]}));
  EXPECT_EQ(files_of_share(files, {1, 2}), (Files{files[2], files[3]}));
}

TEST(Share, RanksOfDifferentFoldersAreDifferent) {
  const Files files{"a/r0.json", "b/r0.json"};
  EXPECT_EQ(files_of_share(files, {0, 2}), Files{"a/r0.json"});
  EXPECT_EQ(files_of_share(files, {1, 2}), Files{"b/r0.json"});
}

TEST(Share, ServersAndTheChiefGoToAllProcessesThatHaveARank) {
  const Files files{"a/chief.xplane.pb", "a/r0.xplane.pb", "a/r1.xplane.pb", "a/server0.xplane.pb"};
  EXPECT_EQ(files_of_share(files, {1, 2}), (Files{files[0], files[2], files[3]}));
  EXPECT_EQ(files_of_share(files, {2, 3}), Files{});
}

TEST(Share, EveryFileHasExactlyOneReader) {
  Files files;
  for (int i = 0; i < 37; ++i) files.push_back("job/worker." + std::string(1, char('A' + i % 26)));
  for (int i = 0; i < 37; ++i) files.push_back("job/rank" + std::to_string(i) + ".json");
  std::sort(files.begin(), files.end());
  for (const std::int64_t count : {2, 5, 64, 200}) {
    Files all;
    for (std::int64_t i = 0; i < count; ++i) {
      const Files mine = files_of_share(files, {i, count});
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, files) << count;
  }
}

TEST(Share, CompanionsWithoutRankGoToAllProcessesThatHaveATrace) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "weft_share";
  fs::create_directories(folder);
  const std::string observed = (folder / "observed.json").string();
  fs::copy_file(fs::path(WEFT_SOURCE_DIR) / "tests/fuzz/execution_trace/schema110.json", observed,
                fs::copy_options::overwrite_existing);
  const std::string log = (folder / "node1-4711.wire.weftlog").string();
  fs::copy_file(fs::path(WEFT_SOURCE_DIR) / "tests/fuzz/probe/cut.weftlog", log,
                fs::copy_options::overwrite_existing);
  const Files files{log, observed, (folder / "r0.json").string(), (folder / "r1.json").string()};
  EXPECT_EQ(files_of_share(files, {0, 3}), (Files{files[0], files[1], files[2]}));
  EXPECT_EQ(files_of_share(files, {1, 3}), (Files{files[0], files[1], files[3]}));
  EXPECT_TRUE(files_of_share(files, {2, 3}).empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace weft::trace
