// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/packed/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "weft/base/file.h"
#include "weft/base/sink.h"
#include "weft/trace/formats/packed/same_trace.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = fs::path(WEFT_SOURCE_DIR) / "examples" / "ddp-cpu";

class PackFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("weft_pack_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<std::vector<PackedFile>> pack_to(const fs::path& input, const std::string& out,
                                          const PackOptions& options = {}) {
    return pack_files({input.string()}, (folder_ / out).string(), options, diagnostics_);
  }
  Recording read(const fs::path& path) {
    Diagnostics diagnostics;
    auto recording = load({path.string()}, {}, diagnostics);
    EXPECT_TRUE(recording) << recording.error().text();
    return recording ? std::move(*recording) : Recording{};
  }
  /// Writes a recording that does not name its rank.
  void put_nameless(const std::string& name) {
    const std::string text = R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"op","pid":1,)"
                             R"("tid":1,"ts":1,"dur":2}]})";
    ASSERT_TRUE(write_file((folder_ / name).string(), text));
  }

  fs::path folder_;
  Diagnostics diagnostics_;
};

TEST_F(PackFiles, OneFilePerRankThatReadsLikeTheOriginal) {
  const auto files = pack_to(kExamples / "even", "out");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[1].path, (folder_ / "out" / "r1.weft").string());
  EXPECT_EQ((*files)[1].bytes, static_cast<Bytes>(fs::file_size((*files)[1].path)));
  const Recording original = read(kExamples / "even");
  const Recording packed = read(folder_ / "out");
  ASSERT_EQ(packed.runs.size(), 1u);
  EXPECT_EQ(packed.runs[0].world, original.runs[0].world);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(difference(packed.runs[0].ranks[r], original.runs[0].ranks[r]), "");
    EXPECT_EQ(packed.runs[0].ranks[r].origin, original.runs[0].ranks[r].file);
  }
}

TEST_F(PackFiles, FileNameIsForOneRankOnly) {
  const auto one = pack_to(kExamples / "even" / "rank1.json.gz", "deep/one.weft");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(read(folder_ / "deep" / "one.weft").runs[0].ranks[0].rank, 1);
  const auto two = pack_to(kExamples / "even", "two.weft");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(folder_ / "two.weft"));
}

TEST_F(PackFiles, EachOfSeveralRunsGetsAFolder) {
  const auto files = pack_to(kExamples, "out");
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->size(), 4u);
  const Recording original = read(kExamples);
  const Recording packed = read(folder_ / "out");
  ASSERT_EQ(packed.runs.size(), original.runs.size());
  for (std::size_t i = 0; i < packed.runs.size(); ++i) {
    EXPECT_EQ(packed.runs[i].label, original.runs[i].label);
    EXPECT_EQ(difference(packed.runs[i].ranks[0], original.runs[i].ranks[0]), "");
  }
  PackOptions options;
  options.run = "even";
  const auto one = pack_to(kExamples, "one", options);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_TRUE(fs::exists(folder_ / "one" / "r0.weft"));
}

TEST_F(PackFiles, ProcessesDivideTheRanks) {
  for (std::int64_t i = 0; i < 3; ++i) {
    PackOptions options;
    options.share = {i, 3};
    const auto files = pack_to(kExamples / "even", "out", options);
    ASSERT_TRUE(files) << files.error().text();
    EXPECT_EQ(files->size(), i < 2 ? 1u : 0u);
  }
  EXPECT_TRUE(diagnostics_.empty()) << "ranks of other processes are not missing";
  EXPECT_EQ(read(folder_ / "out").runs[0].ranks.size(), 2u);
}

TEST_F(PackFiles, OtherFilesInTheShareAreNotAnError) {
  fs::copy(kExamples / "even", folder_ / "in");
  std::ofstream(folder_ / "in" / "job.json") << R"({"framework":"none"})";
  std::size_t packed = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    PackOptions options;
    options.share = {i, 3};
    const auto files = pack_to(folder_ / "in", "out", options);
    ASSERT_TRUE(files) << files.error().text();
    packed += files->size();
  }
  EXPECT_EQ(packed, 2u);
}

TEST_F(PackFiles, ProcessesNeverOverwriteEachOther) {
  PackOptions options;
  options.share = {0, 2};
  ASSERT_TRUE(pack_to(kExamples / "even", "out", options));
  const auto again = pack_to(kExamples / "uneven", "out", options);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("exists already"), std::string::npos);
  EXPECT_NE(again.error().file.find("r0.weft"), std::string::npos);
  // A single process may overwrite its files.
  EXPECT_TRUE(pack_to(kExamples / "uneven", "out"));
}

TEST_F(PackFiles, ProcessesDoNotGuessRanks) {
  fs::create_directories(folder_ / "in");
  put_nameless("in/first.json");
  put_nameless("in/second.json");
  PackOptions options;
  options.share = {1, 2};
  const auto divided = pack_to(folder_ / "in", "out", options);
  ASSERT_FALSE(divided);
  EXPECT_NE(divided.error().message.find("does not name its rank"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(PackFiles, FileThatCannotBeMappedIsReadNormally) {
  ASSERT_TRUE(pack_to(kExamples / "even" / "rank0.json.gz", "one.weft"));
  const auto bytes = read_file((folder_ / "one.weft").string());
  ASSERT_TRUE(bytes);
  const std::string path = (folder_ / "one.weft.gz").string();
  const auto gzip = gzip_sink(*create_file(path));
  ASSERT_TRUE(gzip->write(*bytes));
  ASSERT_TRUE(gzip->close());
  const Recording packed = read(path);
  EXPECT_EQ(difference(packed.runs[0].ranks[0], read(folder_ / "one.weft").runs[0].ranks[0]), "");
}

}  // namespace
}  // namespace weft::trace
