// SPDX-License-Identifier: Apache-2.0
#include "weft/base/file.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include <filesystem>

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string gzip(std::string_view text) {
  std::string out(text.size() + 4096, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate_stateless(&stream), 0);
  out.resize(stream.total_out);
  return out;
}

std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 300000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("weft_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, std::string_view content) {
    const std::string path = (folder_ / name).string();
    fs::create_directories(fs::path(path).parent_path());
    EXPECT_TRUE(write_file(path, content));
    return path;
  }
  // Reads all bytes in pieces of `capacity`. Also returns whether the source was truncated.
  static std::pair<std::string, bool> drain(const std::string& path, std::size_t capacity) {
    auto source = open_file(path);
    EXPECT_TRUE(source);
    std::string all, piece(capacity, '\0');
    for (;;) {
      auto got = (*source)->read(piece.data(), capacity);
      EXPECT_TRUE(got);
      if (*got == 0) return {all, (*source)->truncated()};
      all.append(piece, 0, *got);
    }
  }

  fs::path folder_;
};

TEST_F(FileTest, PlainAndGzipGiveTheSameBytesInAnyPieces) {
  const std::string text = long_text();
  const std::string plain = put("plain", text);
  const std::string packed = put("packed", gzip(text));
  for (std::size_t capacity : {1000u, 65536u, 1u << 20}) {
    EXPECT_EQ(drain(plain, capacity), std::pair(text, false));
    EXPECT_EQ(drain(packed, capacity), std::pair(text, false));
  }
}

TEST_F(FileTest, BytesPutBackAreReadAgain) {
  const std::string text = long_text();
  for (const std::string& content : {text, gzip(text)}) {
    auto source = open_file(put("file", content));
    ASSERT_TRUE(source);
    auto head = read_up_to(**source, 1000);
    ASSERT_TRUE(head);
    EXPECT_EQ(*head, text.substr(0, 1000));
    const auto again = put_back(*std::move(head), *std::move(source));
    EXPECT_EQ(read_up_to(*again, text.size() + 1).value(), text);
  }
}

TEST_F(FileTest, GzipMembersInARowAreOneFile) {
  const std::string text = long_text();
  const std::string path =
      put("members", gzip(text) + gzip("middle") + gzip("") + gzip(text) + std::string(512, '\0'));
  EXPECT_EQ(drain(path, 70000), std::pair(text + "middle" + text, false));
}

TEST_F(FileTest, CutGzipGivesItsBeginningAndIsReportedAsTruncated) {
  const std::string text = long_text();
  const std::string packed = gzip(text);
  for (std::size_t keep : {packed.size() / 2, packed.size() - 4, std::size_t{12}}) {
    const auto [got, truncated] = drain(put("cut", packed.substr(0, keep)), 65536);
    EXPECT_TRUE(truncated);
    EXPECT_EQ(got, text.substr(0, got.size()));
    if (keep > 1000) {
      EXPECT_GT(got.size(), text.size() / 3);
    }
  }
}

TEST_F(FileTest, DamagedGzipEndsInsteadOfFailing) {
  std::string packed = gzip(long_text());
  for (std::size_t i = packed.size() / 2; i < packed.size(); ++i) packed[i] = '\x55';
  const auto [got, truncated] = drain(put("damaged", packed), 65536);
  EXPECT_TRUE(truncated);
  EXPECT_FALSE(read_file(put("damaged", packed)));
}

TEST_F(FileTest, ReadFileUnpacks) {
  EXPECT_EQ(read_file(put("a", gzip("hello"))).value(), "hello");
  EXPECT_EQ(read_file(put("b", "")).value(), "");
  EXPECT_EQ(read_file((folder_ / "none").string()).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(read_file(folder_.string()));
}

TEST_F(FileTest, WriteIntoMissingFolderIsAnErrorAndLeavesNothing) {
  EXPECT_FALSE(write_file((folder_ / "no" / "file").string(), "x"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FileTest, InputsExpandToSortedFilesWithoutRepeats) {
  const std::string a = put("a.json", "1"), b = put("b.json", "2");
  put(".hidden", "3");
  put("sub/c.json", "4");
  EXPECT_EQ(expand_inputs({folder_.string()}).value(), (std::vector<std::string>{a, b}));
  EXPECT_EQ(expand_inputs({b, (folder_ / "*.json").string()}).value(),
            (std::vector<std::string>{a, b}));
}

TEST_F(FileTest, FolderOfFoldersGivesTheFilesOfItsSubfolders) {
  const std::string a = put("r0/x.json", "1"), b = put("r1/x.json", "2");
  EXPECT_EQ(expand_inputs({folder_.string()}).value(), (std::vector<std::string>{a, b}));
}

TEST_F(FileTest, MissingPathIsAnErrorThatNamesIt) {
  const auto missing = expand_inputs({(folder_ / "nothing").string()});
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().file, (folder_ / "nothing").string());
  EXPECT_FALSE(expand_inputs({folder_.string()}));
  EXPECT_FALSE(expand_inputs({(folder_ / "*.json").string()}));
  EXPECT_FALSE(expand_inputs({}));
}

}  // namespace
}  // namespace weft
