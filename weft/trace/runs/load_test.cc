// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/load.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weft/base/file.h"
#include "weft/base/parallel.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

struct Trace {
  int rank = 0;  ///< -1: the file does not say
  int world = 2;
  int pid = 100;
  long begin_us = 1000000;
  int collectives = 2;
  int operators = 5;
};

std::string text_of(const Trace& t) {
  std::string text = "{";
  if (t.rank >= 0) {
    text += R"("distributedInfo":{"rank":)" + std::to_string(t.rank) + R"(,"world_size":)" +
            std::to_string(t.world) + "},";
  }
  text += R"("traceEvents":[)";
  const auto event = [&](const std::string& cat, const std::string& name, int pid, int index) {
    return R"({"ph":"X","cat":")" + cat + R"(","name":")" + name + R"(","pid":)" +
           std::to_string(pid) + R"(,"tid":7,"ts":)" + std::to_string(t.begin_us + index * 100) +
           R"(,"dur":50,"args":{"correlation":)" + std::to_string(index + 1) + "}}";
  };
  std::string comma;
  for (int i = 0; i < t.operators; ++i, comma = ",")
    text += comma + event("cpu_op", "op", t.pid, i);
  for (int i = 0; i < t.collectives; ++i, comma = ",") {
    text += comma + event("kernel", "ncclDevKernel_AllReduce_Sum", 0, i);
  }
  return text + "]}";
}

class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("weft_load_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, std::string_view content) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(write_file(path.string(), content));
    return path.string();
  }
  Recording load_folder(const std::string& run = {}) {
    diagnostics_ = {};
    auto recording = load({folder_.string()}, {run, {}}, diagnostics_);
    EXPECT_TRUE(recording) << recording.error().text();
    return recording ? std::move(*recording) : Recording{};
  }
  Error load_error(const std::string& input) {
    diagnostics_ = {};
    const auto recording = load({input}, {}, diagnostics_);
    EXPECT_FALSE(recording);
    return recording ? Error{} : recording.error();
  }

  fs::path folder_;
  Diagnostics diagnostics_;
};

TEST_F(LoadTest, RanksComeInOrder) {
  put("a.json", text_of({.rank = 1, .pid = 101}));
  put("b.json", text_of({.rank = 0, .pid = 100}));
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 1u);
  EXPECT_EQ(r.runs[0].world, 2);
  ASSERT_EQ(r.runs[0].ranks.size(), 2u);
  EXPECT_EQ(r.runs[0].ranks[0].rank, 0);
  EXPECT_EQ(r.runs[0].ranks[1].process, 101);
  EXPECT_TRUE(diagnostics_.empty());
}

TEST_F(LoadTest, ResultDoesNotDependOnThreads) {
  for (int i = 0; i < 8; ++i)
    put("r" + std::to_string(i) + ".json",
        text_of({.rank = i % 7, .world = 8, .operators = 5 + i}));
  put("notes.txt", "hello");
  std::vector<std::string> seen;
  for (std::size_t threads : {1u, 4u}) {
    set_max_threads(threads);
    const Recording r = load_folder();
    std::string text;
    for (const trace::Run& run : r.runs) {
      for (const RankTrace& t : run.ranks)
        text += t.file + " " + std::to_string(t.events.size()) + "\n";
    }
    for (const Diagnostic& d : diagnostics_.all()) {
      text += std::string(d.kind->id) + " " + std::to_string(d.count);
      for (const std::string& place : d.places) text += " " + place;
    }
    seen.push_back(text);
  }
  set_max_threads(0);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_F(LoadTest, RepeatedRanksAreSplitByTime) {
  for (int rank : {0, 1}) {
    put("first" + std::to_string(rank) + ".json",
        text_of({.rank = rank, .pid = 10 + rank, .begin_us = 1000000}));
    put("later" + std::to_string(rank) + ".json",
        text_of({.rank = rank, .pid = 20 + rank, .begin_us = 90000000}));
  }
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 2u);
  EXPECT_EQ(r.runs[0].ranks[1].process, 11);
  EXPECT_EQ(r.runs[1].ranks[0].process, 20);
  EXPECT_NE(r.runs[0].label, r.runs[1].label);
  const Recording second = load_folder("2");
  ASSERT_EQ(second.runs.size(), 1u);
  EXPECT_EQ(second.runs[0].ranks[0].process, 20);
  EXPECT_EQ(load_folder(r.runs[0].label).runs[0].ranks[0].process, 10);
}

TEST_F(LoadTest, UnknownRunIsAUsageErrorThatListsThem) {
  put("a.json", text_of({.world = 1}));
  const auto r = load({folder_.string()}, {"7", {}}, diagnostics_);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  EXPECT_NE(r.error().message.find("1  a (1 ranks)"), std::string::npos) << r.error().message;
}

TEST_F(LoadTest, JobsInOneFolderAreSeparatedByName) {
  for (const char* job : {"resnet", "vgg"}) {
    for (int rank : {0, 1})
      put(std::string(job) + "-r" + std::to_string(rank) + ".json",
          text_of({.rank = rank, .pid = job[0] + rank}));
  }
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 2u);
  EXPECT_EQ(r.runs[0].label, "resnet");
  EXPECT_EQ(r.runs[1].label, "vgg");
  EXPECT_EQ(r.runs[0].ranks.size(), 2u);
}

TEST_F(LoadTest, JobsAtTheSameTimeAreSeparatedByNamesWithoutDigits) {
  for (const char* name : {"jobA0", "jobA1", "jobB0", "jobB1"}) {
    put(std::string(name) + ".json", text_of({.rank = name[4] - '0', .pid = name[3] + name[4]}));
  }
  EXPECT_EQ(load_folder().runs.size(), 2u);
  EXPECT_EQ(diagnostics_.count_of("duplicate-rank"), 0);
}

TEST_F(LoadTest, SubfoldersOfOneJobAreOneRun) {
  put("node0/trace.json", text_of({.rank = 0}));
  put("node1/trace.json", text_of({.rank = 1}));
  EXPECT_EQ(load_folder().runs.size(), 1u);
}

TEST_F(LoadTest, JobsOfDifferentSizeAreDifferentRuns) {
  put("a.json", text_of({.rank = 0, .world = 2}));
  put("b.json", text_of({.rank = 1, .world = 4}));
  EXPECT_EQ(load_folder().runs.size(), 2u);
}

TEST_F(LoadTest, DuplicateRankKeepsTheLarger) {
  put("r0.json", text_of({.rank = 0}));
  put("r1.json", text_of({.rank = 1, .operators = 3}));
  put("r1_copy.json", text_of({.rank = 1, .operators = 9}));
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 1u);
  EXPECT_EQ(r.runs[0].ranks[1].events.size(), 11u);
  EXPECT_EQ(diagnostics_.count_of("duplicate-rank"), 1);
}

TEST_F(LoadTest, CopiesAreFoundUnderAnyName) {
  put("job-r0.json", text_of({.rank = 0, .pid = 5}));
  put("job-r1.json", text_of({.rank = 1, .pid = 6}));
  put("backup/old.json", text_of({.rank = 1, .pid = 6, .operators = 3}));
  auto recording = load({folder_.string(), (folder_ / "backup").string()}, {}, diagnostics_);
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->runs.size(), 1u);
  EXPECT_EQ(recording->runs[0].ranks[1].events.size(), 7u);
  EXPECT_EQ(diagnostics_.count_of("duplicate-rank"), 1);
}

TEST_F(LoadTest, MissingRanksAreNamed) {
  put("r0.json", text_of({.rank = 0, .world = 4}));
  put("r2.json", text_of({.rank = 2, .world = 4}));
  EXPECT_EQ(load_folder().runs[0].world, 4);
  EXPECT_EQ(diagnostics_.count_of("missing-rank"), 2);
  EXPECT_NE(diagnostics_.all()[0].places[0].find("ranks 1, 3 of 4"), std::string::npos);
}

TEST_F(LoadTest, FewerCollectivesAreReported) {
  put("r0.json", text_of({.rank = 0, .collectives = 4}));
  put("r1.json", text_of({.rank = 1, .collectives = 3}));
  load_folder();
  EXPECT_EQ(diagnostics_.count_of("unequal-collectives"), 1);
  EXPECT_EQ(diagnostics_.all()[0].places[0], "rank 1: 3 of 4");
}

TEST_F(LoadTest, UnknownRanksAreNumberedByProcess) {
  put("a.json", text_of({.rank = -1, .pid = 900}));
  put("b.json", text_of({.rank = -1, .pid = 800}));
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 1u);
  ASSERT_EQ(r.runs[0].ranks.size(), 2u);
  EXPECT_EQ(r.runs[0].ranks[0].process, 800);
  EXPECT_EQ(r.runs[0].world, 2);
  EXPECT_EQ(diagnostics_.count_of("rank-assumed"), 2);
}

TEST_F(LoadTest, ExecutionTraceGoesToItsProcess) {
  put("k0.json", text_of({.rank = 0, .world = 1, .pid = 77, .collectives = 1}));
  put("et.json",
      R"({"schema":"1.0.1","pid":77,"nodes":[{"name":"record_param_comms","id":5,"rf_id":1,
    "inputs":[[[1,2,0,640,4,"cuda:0"]],33,9,0,"allreduce",[],[],2],"input_types":["GenericList[Tensor(float)]"],"outputs":[]}]})");
  const Recording r = load_folder();
  ASSERT_EQ(r.runs[0].ranks[0].collectives.size(), 1u);
  EXPECT_EQ(r.runs[0].ranks[0].collectives[0].in_elements, 640);
  EXPECT_EQ(diagnostics_.count_of("sizes-from-execution-trace"), 1);
}

TEST_F(LoadTest, ExecutionTracesAloneAreAnError) {
  const std::string path =
      put("et.json", R"({"schema":"1.0.1","pid":77,"nodes":[{"name":"x","id":5,"rf_id":1}]})");
  EXPECT_NE(load_error(path).message.find("no times"), std::string::npos);
}

TEST_F(LoadTest, ForeignFilesInAFolderAreSkipped) {
  put("README.md", "# notes");
  put("links.json", R"({"bytes":[1,2]})");
  put("r0.json", text_of({.world = 1}));
  EXPECT_EQ(load_folder().runs.size(), 1u);
  EXPECT_EQ(diagnostics_.count_of("skipped-file"), 2);
  EXPECT_TRUE(diagnostics_.strict()) << "passing over foreign files loses nothing";
}

TEST_F(LoadTest, BrokenRankInAFolderIsReportedAndTheRestUsed) {
  put("r0.json", text_of({.rank = 0}));
  put("r1.json", "");
  load_folder();
  EXPECT_EQ(diagnostics_.count_of("unreadable-file"), 1);
  EXPECT_EQ(diagnostics_.count_of("missing-rank"), 1);
  EXPECT_FALSE(diagnostics_.strict());
}

TEST_F(LoadTest, ManyMissingRanksAreCountedAndTheFirstEightNamed) {
  put("r2.json", text_of({.rank = 2, .world = 1000000}));
  EXPECT_EQ(load_folder().runs[0].world, 1000000);
  EXPECT_EQ(diagnostics_.count_of("implausible-rank"), 0);
  EXPECT_EQ(diagnostics_.count_of("missing-rank"), 999999);
  EXPECT_NE(diagnostics_.all()[0].places[0].find("ranks 0, 1, 3, 4, 5, 6, 7, 8 and 999991 more"),
            std::string::npos)
      << diagnostics_.all()[0].places[0];
}

TEST_F(LoadTest, ImplausibleWorldSizeCountsAsUnknown) {
  put("trace.json", text_of({.rank = 2000000000, .world = 2000000001}));
  const Recording r = load_folder();
  EXPECT_EQ(r.runs[0].world, 1);
  EXPECT_EQ(r.runs[0].ranks[0].rank, 0);
  EXPECT_EQ(diagnostics_.count_of("implausible-rank"), 1);
  EXPECT_EQ(diagnostics_.count_of("missing-rank"), 0);
}

TEST_F(LoadTest, RankBeyondItsWorldIsTakenFromTheName) {
  put("trace_rank0.json", text_of({.rank = 0, .world = 2}));
  put("trace_rank1.json", text_of({.rank = 2, .world = 2}));
  const Recording r = load_folder();
  ASSERT_EQ(r.runs.size(), 1u);
  EXPECT_EQ(r.runs[0].world, 2);
  ASSERT_EQ(r.runs[0].ranks.size(), 2u);
  EXPECT_EQ(r.runs[0].ranks[1].rank, 1);
  EXPECT_EQ(diagnostics_.count_of("implausible-rank"), 1);
}

TEST_F(LoadTest, DamagedGzipIsNotCalledEmpty) {
  // The gzip header is valid. But the first block has a type that does not exist.
  std::string damaged("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);
  damaged.resize(2000, '\xff');
  const Error error = load_error(put("damaged.json.gz", damaged));
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.file, (folder_ / "damaged.json.gz").string());
  EXPECT_EQ(error.byte, 0);
  EXPECT_NE(error.message.find("gzip data is cut or damaged"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("copy the file again"), std::string::npos) << error.message;
}

TEST_F(LoadTest, AnUnusableFileIsAnErrorWithFileAndAdvice) {
  const std::string empty = put("empty.json", "");
  EXPECT_EQ(load_error(empty).file, empty);
  EXPECT_EQ(load_error(empty).byte, 0);
  EXPECT_NE(load_error(empty).message.find("empty"), std::string::npos);

  const std::string other = put("other.json", R"({"name": "package"})");
  EXPECT_NE(load_error(other).message.find("JSON, but not a trace"), std::string::npos);
  EXPECT_NE(load_error(put("a.bin", "\x01\x02")).message.find("not a trace"), std::string::npos);

  EXPECT_EQ(load_error((folder_ / "nobody.json").string()).code, ErrorCode::kNotFound);
  fs::create_directories(folder_ / "void");
  EXPECT_NE(load_error((folder_ / "void").string()).message.find("no files"), std::string::npos);

  const std::string cut =
      put("cut.json", R"({"schemaVersion": 1, "traceEvents": [ {"ph": "X", "ca)");
  EXPECT_EQ(load_error(cut).byte, 53);
}

TEST_F(LoadTest, FolderWithoutRecordingsSaysWhy) {
  put("README.md", "# notes");
  put("rank0.json", R"({"traceEvents": [)");
  const Error error = load_error(folder_.string());
  EXPECT_EQ(fs::path(error.file).filename(), "rank0.json") << "not the README";
}

TEST_F(LoadTest, ProgressReachesTheTotal) {
  std::int64_t expected = 0;
  for (int i = 0; i < 3; ++i) {
    expected += static_cast<std::int64_t>(fs::file_size(put(
        "r" + std::to_string(i) + ".json", text_of({.rank = i, .world = 3, .operators = 20000}))));
  }
  std::int64_t last = 0;
  LoadOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_GE(done, last);
    EXPECT_EQ(total, expected);
    last = done;
    return true;
  };
  ASSERT_TRUE(load({folder_.string()}, options, diagnostics_));
  EXPECT_EQ(last, expected);
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  const auto cancelled = load({folder_.string()}, options, diagnostics_);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace weft::trace
