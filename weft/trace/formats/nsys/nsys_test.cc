// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/nsys/nsys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "weft/trace/formats/nsys/fake_export.h"
#include "weft/trace/formats/nsys/machine.h"
#include "weft/trace/launches.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/match/match.h"

namespace weft::trace::nsys {
namespace {

Result<std::vector<RankTrace>> read(const std::string& bytes, Diagnostics& diagnostics) {
  const auto source = memory_source(bytes, "made.sqlite", 4096);
  return make_nsys_reader()->read(*source, {}, diagnostics);
}

std::vector<RankTrace> read_sql(const std::string& sql) {
  Diagnostics diagnostics;
  auto ranks = read(fake_database(sql), diagnostics);
  EXPECT_TRUE(ranks) << ranks.error().text();
  return ranks ? std::move(*ranks) : std::vector<RankTrace>();
}

std::string error_of(const std::string& bytes) {
  Diagnostics diagnostics;
  const auto ranks = read(bytes, diagnostics);
  EXPECT_FALSE(ranks);
  return ranks ? "" : ranks.error().message;
}

std::size_t count(const RankTrace& trace, EventKind kind) {
  return static_cast<std::size_t>(
      std::count(trace.events.kind.begin(), trace.events.kind.end(), kind));
}

std::string_view name(const RankTrace& trace, std::uint32_t event) {
  return trace.names.text(trace.events.name[event]);
}

TEST(NsysReader, EveryProcessWithItsGpuIsARank) {
  const auto ranks = read_sql(fake_job());
  ASSERT_EQ(ranks.size(), 2u);
  for (int r = 0; r < 2; ++r) {
    const RankTrace& trace = ranks[r];
    EXPECT_EQ(trace.rank, r);
    EXPECT_EQ(trace.process, 100 + r);
    EXPECT_EQ(trace.events.size(), 12u);
    ASSERT_EQ(trace.steps.size(), 2u);
    EXPECT_EQ(trace.steps[0].number, 5);
    EXPECT_EQ(trace.steps[0].start, 0);
    EXPECT_EQ(trace.steps[1].end, 1'900'000);
    EXPECT_EQ(trace.epoch, 1'000'000'000 + r * 1'000);
    // Correlations are unique within a process only: both processes use the same numbers.
    const Launches launches = resolve_launches(trace);
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      if (trace.events.kind[i] != EventKind::kKernel) continue;
      ASSERT_NE(launches.launcher[i], kNone);
      const std::string_view call = name(trace, launches.launcher[i]);
      EXPECT_EQ(call, name(trace, i) == "gemm" ? "cudaLaunchKernel" : "cudaLaunchKernelExC");
    }
  }
}

TEST(NsysReader, NcclKernelsAreMatchedAcrossRanks) {
  trace::Run run;
  run.ranks = read_sql(fake_job());
  run.world = 2;
  Diagnostics diagnostics;
  const std::vector<Match> matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 2u);
  for (const Match& match : matches) {
    EXPECT_EQ(match.kind, CollectiveKind::kAllReduce);
    EXPECT_EQ(match.members.size(), 2u);
  }
}

TEST(NsysReader, OperatorsOfEmitNvtxKeepNameSequenceAndShapes) {
  const auto ranks = read_sql(fake_job());
  const RankTrace& trace = ranks[0];
  EXPECT_EQ(count(trace, EventKind::kHostOp), 2u);
  EXPECT_EQ(count(trace, EventKind::kAnnotation), 2u);
  const auto op = static_cast<std::uint32_t>(
      std::find(trace.events.kind.begin(), trace.events.kind.end(), EventKind::kHostOp) -
      trace.events.kind.begin());
  EXPECT_EQ(name(trace, op), "aten::mm");
  const HostOpDetail& detail = trace.host_ops[trace.events.detail[op]];
  EXPECT_EQ(detail.sequence, 3);
  EXPECT_EQ(trace.names.text(detail.input_dims), "[[4, 8], [8, 2]]");
  EXPECT_TRUE(trace.facts.shapes);
}

TEST(NsysReader, ProcessWithTwoGpusIsTwoRanksWithTheirOwnLaunches) {
  const auto ranks =
      read_sql(fake_tables() + fake_call("cudaLaunchKernel", kFirstProcess, 10, 20, 1) +
               fake_call("cudaLaunchKernel", kFirstProcess, 30, 40, 2) +
               fake_call("cudaEventQuery", kFirstProcess, 50, 60, 3) +
               fake_kernel("a", kFirstProcess, 0, 7, 100, 200, 1) +
               fake_kernel("b", kFirstProcess, 1, 7, 100, 200, 2));
  ASSERT_EQ(ranks.size(), 2u);
  for (const RankTrace& trace : ranks) {
    EXPECT_EQ(count(trace, EventKind::kKernel), 1u);
    EXPECT_EQ(count(trace, EventKind::kRuntime), 2u)
        << "its own launch, and the call that launches nothing";
  }
}

TEST(NsysReader, GpuWithFewKernelsIsNotARank) {
  std::string sql = fake_tables() + fake_kernel("stray", kFirstProcess, 0, 7, 5, 6, 99);
  for (int i = 0; i < 40; ++i) {
    sql += fake_kernel("work", kFirstProcess, 3, 7, 100 + 10 * i, 105 + 10 * i, i + 1);
  }
  const auto ranks = read_sql(sql);
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(count(ranks[0], EventKind::kKernel), 41u);
}

TEST(NsysReader, NcclRangesNameRanksSizesAndPeers) {
  std::string sql = fake_tables();
  for (const std::int64_t process : {kFirstProcess, kSecondProcess}) {
    const int device = process == kFirstProcess ? 0 : 1;
    const int rank = 1 - device;  // differs from the order of the GPUs
    sql += fake_range("ncclCommInitRank", process, 1, 2,
                      R"({"NCCL communicator ID":77,"No. of ranks":2,"Rank":)" +
                          std::to_string(rank) + R"(,"CUDA device":0})") +
           fake_range("ncclAllGather", process, 10, 12,
                      R"({"NCCL communicator ID":77,"Message size [bytes]":1024})") +
           fake_call("cudaLaunchKernel", process, 11, 12, 1) +
           fake_kernel("ncclDevKernel_AllGather_RING_LL(x)", process, device, 7, 20, 90, 1) +
           fake_range(rank == 0 ? "ncclSend" : "ncclRecv", process, 30, 31,
                      R"({"payload":{"NCCL communicator ID":77,"Message size [bytes]":"64",)"
                      R"("Peer rank":)" +
                          std::to_string(1 - rank) + "}}") +
           fake_range("ncclGroupEnd", process, 32, 35) +
           fake_call("cudaLaunchKernel", process, 33, 34, 2) +
           fake_kernel("ncclDevKernel_SendRecv(x)", process, device, 7, 100, 190, 2);
  }
  trace::Run run;
  run.ranks = read_sql(sql);
  run.world = 2;
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[0].rank, 1);
  EXPECT_EQ(run.ranks[0].world, 2);
  std::sort(run.ranks.begin(), run.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  const auto calls = find_calls(run);
  ASSERT_EQ(calls[0].size(), 2u);
  EXPECT_EQ(calls[0][0].bytes, 2048) << "the size of an all-gather is its output";
  EXPECT_EQ(calls[0][0].group, "77");
  ASSERT_EQ(calls[0][1].messages.size(), 1u);
  EXPECT_EQ(calls[0][1].messages[0], (Message{1, true, 64}));
  ASSERT_EQ(calls[1][1].messages.size(), 1u);
  EXPECT_EQ(calls[1][1].messages[0], (Message{0, false, 64}));
}

TEST(NsysReader, EnvironmentNamesTheRankOfAFileWithOneRank) {
  const std::string alone = fake_tables() + fake_kernel("gemm", kFirstProcess, 0, 7, 10, 20, 1) +
                            "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
                            "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node7'), "
                            "('DeviceEnvironment', 'LOCAL_RANK=1\nRANK=5\nWORLD_SIZE=8');";
  const auto one = read_sql(alone);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].rank, 5);
  EXPECT_EQ(one[0].world, 8);
  EXPECT_EQ(one[0].host, "node7");
  const auto two = read_sql(alone + fake_kernel("gemm", kSecondProcess, 1, 7, 10, 20, 1));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].rank, 0) << "the environment belongs to one of them at most";
  EXPECT_EQ(two[1].rank, 1);
}

TEST(NsysMachine, VariablesAreFoundInPlainTextAndJson) {
  EXPECT_EQ(variable("A=1\nRANK=3\n", "RANK"), 3);
  EXPECT_EQ(variable(R"({"LOCAL_RANK":"1","RANK": "12"})", "RANK"), 12);
  for (const char* text :
       {"", "RANK", "RANK=", "RANK=x", "RANKS=3", "LOCAL_RANK=3", "RANK 3", "RANK=123456789"}) {
    EXPECT_EQ(variable(text, "RANK"), -1) << text;
  }
}

TEST(NsysReader, WaitsBetweenStreamsFindTheirEventRecord) {
  const std::string process = std::to_string(kSecondProcess);
  const auto ranks = read_sql(
      fake_job() + "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1, 2, 7, 41, " + process +
      ", 900);\n"
      // This row names the wrong device, as rows of some versions of CUPTI do.
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1000000100, 1000000200, 0, 2, 20, "
      "42, " +
      process +
      ", 2, 5, 900);\n"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1000000300, 1000000400, 0, 2, "
      "4294967295, 43, " +
      process + ", 77, 5, NULL)");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_FALSE(ranks[0].facts.sync_events);
  const RankTrace& trace = ranks[1];
  EXPECT_TRUE(trace.facts.sync_events);
  ASSERT_EQ(trace.syncs.size(), 2u);
  EXPECT_EQ(trace.syncs[0].kind, SyncKind::kStreamWaitEvent);
  EXPECT_EQ(trace.syncs[0].stream, 20);
  EXPECT_EQ(trace.syncs[0].wait_on_stream, 7);
  EXPECT_EQ(trace.syncs[0].wait_on_record, 41);
  EXPECT_EQ(trace.syncs[1].kind, SyncKind::kContextSync)
      << "an unknown kind counts as the strictest one";
  EXPECT_EQ(trace.syncs[1].stream, -1);
}

TEST(NsysReader, OldExportsWithFewTablesAndColumnsAreRead) {
  const auto ranks = read_sql(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
      "INTEGER, streamId INTEGER, shortName INTEGER);"
      "INSERT INTO StringIds VALUES (4, 'gemm');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 4), (20, 15, 1, 7, 9),"
      " ('a', 5, 1, 7, 9), (NULL, NULL, NULL, NULL, NULL)");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(name(ranks[0], 0), "gemm");
  ASSERT_EQ(ranks[1].events.size(), 1u);
  EXPECT_EQ(name(ranks[1], 0), "kernel");
  EXPECT_EQ(ranks[1].events.duration[0], 0);
}

TEST(NsysReader, WithoutKernelsTheErrorNamesTheOptionsOfNsys) {
  const std::string none = error_of(fake_database(fake_tables()));
  EXPECT_NE(none.find("nsys profile --trace=cuda"), std::string::npos) << none;
  EXPECT_NE(none.find("--tables"), std::string::npos) << none;
  const std::string other = error_of(fake_database("CREATE TABLE songs (title TEXT)"));
  EXPECT_NE(other.find("not an export of Nsight Systems"), std::string::npos) << other;
}

TEST(NsysReader, ExecutesNothingThatTheFileContains) {
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i + 1 AS "
      "end, 0 AS deviceId, 7 AS streamId FROM n";
  error_of(
      fake_database("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                    "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS " +
                    endless));
  const auto ranks = read_sql(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
      "INTEGER, streamId INTEGER AS (length(hex(zeroblob(1000000)))));"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0)");
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].lanes[0].tid, -1) << "a computed column counts as missing";
}

TEST(NsysReader, DamageAnywhereEndsInAnErrorOrATrace) {
  const std::string whole = fake_database(fake_job());
  for (std::size_t cut = 0; cut < whole.size(); cut += 191) {
    Diagnostics diagnostics;
    const auto ranks = read(whole.substr(0, cut), diagnostics);
    EXPECT_TRUE(!ranks || cut >= whole.size() / 2) << cut;
  }
  std::uint32_t random = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int flips = 0; flips < 3; ++flips) {
      random = random * 1664525u + 1013904223u;
      bytes[(random >> 8) % bytes.size()] = static_cast<char>(random);
    }
    Diagnostics diagnostics;
    read(bytes, diagnostics);
  }
}

void put(std::string& bytes, std::size_t at, std::uint32_t value, int size) {
  for (int i = size - 1; i >= 0; --i, value >>= 8) bytes[at + i] = static_cast<char>(value);
}

// Each interior page has 60 entries that all refer to the next page, so eight of them turn one leaf
// into 60^8 rows.
TEST(NsysReader, PagesThatMultiplyRowsAreDamage) {
  // The root of the first table is the second page.
  std::string bytes = fake_database(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);"
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2)");
  constexpr std::size_t kPage = 512;
  constexpr std::size_t kRoot = 1;
  constexpr std::uint32_t kLevels = 8;
  const std::string leaf = bytes.substr(kRoot * kPage, kPage);
  const auto first = static_cast<std::uint32_t>(bytes.size() / kPage);
  bytes += std::string(kLevels * kPage, '\0') + leaf;
  for (std::uint32_t level = 0; level <= kLevels; ++level) {
    // The root and the new pages each have 60 cells that refer to the next page.
    const std::size_t at = level == 0 ? kRoot * kPage : (first + level - 1) * kPage;
    const std::uint32_t next = first + level + 1;  // pages count from 1
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\0');
    bytes[at] = 5;
    put(bytes, at + 3, 60, 2);
    put(bytes, at + 5, kPage - 60 * 5, 2);
    put(bytes, at + 8, next, 4);
    for (std::uint32_t cell = 0; cell < 60; ++cell) {
      const std::uint32_t place = static_cast<std::uint32_t>(kPage) - (cell + 1) * 5;
      put(bytes, at + 12 + 2 * cell, place, 2);
      put(bytes, at + place, next, 4);
      bytes[at + place + 4] = static_cast<char>(cell + 1);
    }
  }
  put(bytes, 28, static_cast<std::uint32_t>(bytes.size() / kPage), 4);
  const std::string message = error_of(bytes);
  EXPECT_NE(message.find("form a cycle"), std::string::npos) << message;
}

TEST(NsysReader, CanBeCancelled) {
  const std::string bytes = fake_database(fake_job());
  const auto source = memory_source(bytes, "made.sqlite");
  Diagnostics diagnostics;
  ReadOptions options;
  options.progress = [](std::int64_t) { return false; };
  const auto ranks = make_nsys_reader()->read(*source, options, diagnostics);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kCancelled);
}

TEST(NsysReader, RecognisesOnlyItsOwnFiles) {
  const auto reader = make_nsys_reader();
  EXPECT_GT(reader->recognise(fake_database(fake_job())), 90);
  EXPECT_GT(reader->recognise(fake_database("CREATE TABLE t (a)")), 0)
      << "so that the error can say what is wrong";
  EXPECT_EQ(reader->recognise(R"({"traceEvents": []})"), 0);
}

TEST(NsysReader, ReadsThePublishedExport) {
  const std::string file = std::string(WEFT_SOURCE_DIR) +
                           "/../shared/traces/GindaChen_nsys-ai/mfu_2gpu_before.sqlite.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " does not exist";
  auto source = open_file(file);
  ASSERT_TRUE(source) << source.error().text();
  Diagnostics diagnostics;
  const auto ranks = make_nsys_reader()->read(**source, {}, diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  ASSERT_EQ(ranks->size(), 2u);
  const std::size_t kernels[] = {1993, 2017};
  const Nanos busy[] = {17'200 * kMicrosecond, 8'200 * kMicrosecond};
  std::size_t calls = 0;
  std::size_t syncs = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    const RankTrace& trace = (*ranks)[r];
    EXPECT_EQ(count(trace, EventKind::kKernel), kernels[r]);
    calls += count(trace, EventKind::kRuntime);
    syncs += count(trace, EventKind::kSync);
    const auto found = communication_calls(trace, resolve_launches(trace));
    EXPECT_EQ(found.size(), 33u);
    Nanos sum = 0;
    for (const Call& call : found) sum += trace.events.duration[call.event];
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(busy[r]), 1e5);
    EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](const Call& call) {
      return call.kind == CollectiveKind::kAllToAll;
    }));
  }
  EXPECT_EQ(calls, 7466u);
  EXPECT_EQ(syncs, 366u);
}

}  // namespace
}  // namespace weft::trace::nsys
