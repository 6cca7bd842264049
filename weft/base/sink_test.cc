// SPDX-License-Identifier: Apache-2.0
#include "weft/base/sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "weft/base/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class SinkTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("weft_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

TEST_F(SinkTest, FileAppearsWhenItIsClosed) {
  auto sink = create_file(path("out"));
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->write("one"));
  EXPECT_FALSE(fs::exists(path("out")));
  ASSERT_TRUE((*sink)->close());
  EXPECT_EQ(read_file(path("out")).value(), "one");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SinkTest, FileThatIsNotClosedLeavesTheOldOneAndNothingElse) {
  ASSERT_TRUE(write_file(path("out"), "old"));
  {
    auto sink = create_file(path("out"));
    ASSERT_TRUE(sink);
    ASSERT_TRUE((*sink)->write("new"));
  }
  EXPECT_EQ(read_file(path("out")).value(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SinkTest, LinkIsFollowed) {
  ASSERT_TRUE(write_file(path("target"), "old"));
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")).value(), "new");
}

TEST_F(SinkTest, DeviceIsWrittenAndNotReplaced) {
  ASSERT_TRUE(write_file("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(SinkTest, FullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Status status = write_file("/dev/full", "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(status.error().file, "/dev/full");
}

TEST_F(SinkTest, FolderAndMissingFolderAreErrors) {
  EXPECT_FALSE(create_file(folder_.string()));
  EXPECT_FALSE(create_file(path("no/file")));
}

TEST_F(SinkTest, ReaderThatClosesThePipeIsNotAnError) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto sink = descriptor_sink(ends[1], "stdout");
  EXPECT_TRUE(sink->write("x"));
  EXPECT_TRUE(sink->write("y"));
  EXPECT_TRUE(sink->close());
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST_F(SinkTest, GzipReadsBackAndDoesNotDependOnThePieces) {
  const std::string text = long_text();
  std::string once, many;
  {
    const auto sink = gzip_sink(memory_sink(once));
    ASSERT_TRUE(sink->write(text));
    ASSERT_TRUE(sink->close());
  }
  {
    const auto sink = gzip_sink(memory_sink(many));
    std::string_view rest = text;
    for (std::size_t piece = 1; !rest.empty(); piece = piece * 3 % 10007 + 1) {
      ASSERT_TRUE(sink->write(rest.substr(0, piece)));
      rest.remove_prefix(std::min(piece, rest.size()));
    }
    ASSERT_TRUE(sink->close());
  }
  EXPECT_TRUE(once == many);
  EXPECT_LT(once.size(), text.size() / 3);
  ASSERT_TRUE(write_file(path("packed"), once));
  EXPECT_TRUE(read_file(path("packed")).value() == text);
}

TEST_F(SinkTest, EmptyGzipIsComplete) {
  auto file = create_file(path("empty.gz"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(gzip_sink(std::move(*file))->close());
  EXPECT_EQ(read_file(path("empty.gz")).value(), "");
}

}  // namespace
}  // namespace weft
