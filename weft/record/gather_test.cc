// SPDX-License-Identifier: Apache-2.0
#include "weft/record/gather.h"

#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/record/made_folder.h"

namespace weft::record {
namespace {

TEST(Gather, DistinguishesHostsFromFolders) {
  EXPECT_TRUE(is_remote("node1:traces"));
  EXPECT_TRUE(is_remote("me@node1:/tmp/traces"));
  EXPECT_FALSE(is_remote("traces"));
  EXPECT_FALSE(is_remote("./odd:name"));
  EXPECT_FALSE(is_remote("/tmp/odd:name"));
  EXPECT_FALSE(is_remote(":traces"));
}

TEST(Gather, JoinsRanksOfSeveralFolders) {
  const MadeFolder a("weft-gather-a"), b("weft-gather-b"), to("weft-gather-to");
  a.put("r0.kineto.json.gz", "zero");
  a.put("README", "not ours");
  b.put("r1.kineto.json.gz", "one");
  ASSERT_TRUE(join({{"a", a.path()}, {"b", b.path()}}, to.path() + "/all"));
  EXPECT_EQ(read_file(to.path() + "/all/r0.kineto.json.gz"), "zero");
  EXPECT_EQ(read_file(to.path() + "/all/r1.kineto.json.gz"), "one");
  EXPECT_FALSE(to.has("all/README"));
}

TEST(Gather, TheSameFileTwiceIsNotAConflict) {
  const MadeFolder a("weft-gather-a"), b("weft-gather-b"), to("weft-gather-to");
  a.put("r0.kineto.json.gz", "zero");
  b.put("r0.kineto.json.gz", "zero");
  EXPECT_TRUE(join({{"a", a.path()}, {"b", b.path()}}, to.path()));
  EXPECT_TRUE(join({{"a", a.path()}}, to.path())) << "gathering again changes nothing";
}

TEST(Gather, DifferentFilesOfOneNameAreRefusedBeforeAnythingIsWritten) {
  const MadeFolder a("weft-gather-a"), b("weft-gather-b"), to("weft-gather-to");
  a.put("r0.kineto.json.gz", "zero");
  a.put("r1.kineto.json.gz", "one");
  b.put("r0.kineto.json.gz", "zerO");
  const auto joined = join({{"a", a.path()}, {"b", b.path()}}, to.path());
  ASSERT_FALSE(joined);
  EXPECT_TRUE(joined.error().message.starts_with("r0.kineto.json.gz is in a and in b, and the"));
  EXPECT_FALSE(to.has("r1.kineto.json.gz"));
}

TEST(Gather, AFolderWithoutRecordingIsRefusedByName) {
  const MadeFolder a("weft-gather-a"), to("weft-gather-to");
  a.put("train.py", "");
  EXPECT_EQ(join({{"node1:traces", a.path()}}, to.path()).error().file, "node1:traces");
}

}  // namespace
}  // namespace weft::record
