// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "weft/trace/formats/nccl/nccl.h"
#include "weft/trace/match/match.h"

namespace weft::trace {
namespace {

struct Process {
  std::string communicator = "0x7f8c496ae9f661";
  int rank = 0, ranks = 2;
  int process = 100;
};

constexpr std::int64_t kUnix = 1'752'867'229'000'000;  // microseconds

std::string header(const Process& m) {
  return R"("header":{"id":")" + m.communicator + R"(","rank":)" + std::to_string(m.rank) +
         R"(,"n_ranks":)" + std::to_string(m.ranks) + R"(,"nnodes":1},"metadata":)" +
         R"({"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":)" +
         R"("nccl_profiler_interface","dump_timestamp_us":)" + std::to_string(kUnix) +
         R"(,"hostname":"node","pid":)" + std::to_string(m.process) + "}";
}

/// The times of one channel, in microseconds since kUnix.
std::string times(int start, int end) {
  const auto at = [](int t) { return std::to_string(kUnix + t); };
  return R"(,"event_trace_ts":{"coll_start_ts":)" + at(start - 9) + R"(,"coll_stop_ts":)" +
         at(start - 7) + R"(,"kernel_events":[{"channel_id":0,"kernel_start_ts":)" + at(start) +
         R"(,"kernel_stop_ts":)" + at(end) + R"(,"kernel_record_ts":)" + at(end) +
         R"(},{"channel_id":1,"kernel_start_ts":0,"kernel_stop_ts":0,"kernel_record_ts":0}]})";
}

std::string collective(const std::string& function, int sequence, int bytes, int start, int end) {
  return R"("coll_perf":{"coll":")" + function + R"(","coll_sn":)" + std::to_string(sequence) +
         R"(,"coll_msg_size_bytes":)" + std::to_string(bytes) + R"(,"coll_exec_time_us":)" +
         std::to_string(end - start + 2) + R"(,"coll_timing_source":"kernel_gpu")" +
         (start > 0 ? times(start, end) : "") + R"(,"coll_busbw_gbs":485.119099})";
}

std::string message(const std::string& function, int sequence, int peer, int start, int end) {
  return R"("p2p_perf":{"p2p":")" + function + R"(","p2p_sn":)" + std::to_string(sequence) +
         R"(,"p2p_peer":)" + std::to_string(peer) + R"(,"p2p_msg_size_bytes":640,)" +
         R"("p2p_exec_time_us":5)" + times(start, end) + "}";
}

std::string line(const Process& m, const std::string& what) {
  return "{" + header(m) + "," + what + "}\n";
}

Result<std::vector<RankTrace>> read(const std::string& text, Diagnostics& diagnostics) {
  const auto source = memory_source(text, "node-pid100.log", 64);
  return make_nccl_inspector_reader()->read(*source, {}, diagnostics);
}

trace::Run read_run(const std::string& text, Diagnostics& diagnostics) {
  trace::Run run;
  auto ranks = read(text, diagnostics);
  EXPECT_TRUE(ranks) << ranks.error().text();
  if (ranks) run.ranks = std::move(*ranks);
  run.world = static_cast<std::int32_t>(run.ranks.size());
  return run;
}

TEST(NcclInspector, CallsOfTwoProcessesAreMatchedByFunctionAndNumber) {
  std::string text;
  for (int r = 0; r < 2; ++r) {
    const Process m{"0x7f", r, 2, 100 + r};
    for (int i = 0; i < 4; ++i) {
      // Sequence numbers count per function. Rank 1 lacks the second all-reduce.
      if (r == 0 || i != 1) {
        text += line(m, collective("AllReduce", i, 4096, 1000 * i + 10 + r, 1000 * i + 100));
      }
      text += line(m, collective("ReduceScatter", i, 2048, 1000 * i + 200 + r, 1000 * i + 300));
    }
  }
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[1].rank, 1);
  EXPECT_EQ(run.ranks[1].world, 2);
  EXPECT_EQ(run.ranks[1].process, 101);
  EXPECT_EQ(run.ranks[1].host, "node");
  const std::vector<Match> matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 8u);
  for (const Match& match : matches) {
    EXPECT_EQ(match.complete(), match.kind != CollectiveKind::kAllReduce || match.sequence != 1);
    EXPECT_EQ(match.bytes, 4096) << "NCCL counts what one rank receives";
  }
}

TEST(NcclInspector, LengthComesFromTheGpuAndEndFromTheHost) {
  Diagnostics diagnostics;
  const trace::Run run =
      read_run(line(Process(), collective("AllReduce", 0, 4096, 10, 100)), diagnostics);
  const RankTrace& trace = run.ranks.at(0);
  ASSERT_EQ(trace.events.size(), 2u) << "the enqueue call and the kernel";
  EXPECT_EQ(trace.epoch + trace.events.end(1), (kUnix + 100) * 1000);
  EXPECT_EQ(trace.events.duration[1], 92 * kMicrosecond);
  EXPECT_EQ(resolve_launches(trace).launcher[1], 0u);
}

TEST(NcclInspector, SinceVersion43TheBatchHeaderNamesTheProcess) {
  const auto marker = [](const Process& m, int dropped) {
    return "{" + header(m) + R"(,"dump_stats":{"coll_records":1,"coll_dropped_total":9,)" +
           R"("coll_dropped_since_last_dump":)" + std::to_string(dropped) + "}}\n";
  };
  const Process world{"0xaa", 3, 8, 100};
  const Process pair{"0xbb", 1, 2, 100};
  const std::string text = marker(world, 5) + "{" + collective("AllGather", 0, 64, 10, 20) + "}\n" +
                           marker(pair, 0) + "{" + collective("Broadcast", 0, 64, 30, 40) + "}\n{" +
                           collective("Broadcast", 1, 64, 50, 60) + "}\n" +
                           R"({"proxy_trace":{"record_type":"proxy_op"}})" + "\n";
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  EXPECT_EQ(diagnostics.count_of("inspector-dropped"), 5);
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.ranks[0].rank, 3);
  EXPECT_EQ(run.ranks[0].world, 8);
  const auto calls = find_calls(run);
  ASSERT_EQ(calls[0].size(), 3u);
  EXPECT_EQ(calls[0][0].bytes, 512);
  EXPECT_EQ(calls[0][0].group, "0xaa");
  EXPECT_EQ(calls[0][2].group, "0xbb");
  EXPECT_EQ(calls[0][2].group_size, 2);
}

TEST(NcclInspector, ProcessWithSeveralGpusIsSeveralRanks) {
  std::string text;
  for (int r = 0; r < 2; ++r) {
    text += line({"0xaa", r + 2, 4, 100}, collective("AllReduce", 0, 4096, 10, 100)) +
            line({"0xbb", r, 2, 100}, collective("AllReduce", 0, 4096, 200, 300));
  }
  text += line({"0xcc", 0, 9, 100}, collective("AllReduce", 0, 4096, 400, 500));
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[0].rank, 2);
  EXPECT_EQ(run.ranks[1].rank, 3);
  EXPECT_EQ(run.ranks[0].kernels.size(), 2u);
  EXPECT_EQ(diagnostics.count_of("inspector-unplaced"), 1) << "one GPU of two, but unknown which";
}

TEST(NcclInspector, MessagesNameTheirPeer) {
  std::string text;
  for (int r = 0; r < 2; ++r) {
    text += line({"0xaa", r, 2, 100 + r}, message(r == 0 ? "Send" : "Recv", 0, 1 - r, 10, 100));
  }
  Diagnostics diagnostics;
  const std::vector<Match> matches = match_calls(read_run(text, diagnostics), diagnostics);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_TRUE(matches[0].is_message());
  EXPECT_EQ(matches[0].bytes, 640);
  EXPECT_EQ(matches[0].members.size(), 2u);
}

TEST(NcclInspector, WithoutTimesTheErrorNamesTheSetting) {
  Diagnostics diagnostics;
  const auto ranks = read(line(Process(), collective("AllReduce", 0, 4096, 0, 90)), diagnostics);
  ASSERT_FALSE(ranks);
  EXPECT_NE(ranks.error().message.find("NCCL_INSPECTOR_DUMP_VERBOSE=1"), std::string::npos);
}

TEST(NcclReaders, RecogniseOnlyTheirOwnFiles) {
  const auto profiler = make_nccl_profiler_reader();
  const auto inspector = make_nccl_inspector_reader();
  const std::string log = line(Process(), collective("AllReduce", 0, 4096, 10, 100));
  const std::string events = R"({"recordType":"event","type":"ncclProfileColl"})";
  EXPECT_GT(inspector->recognise(log), 90);
  EXPECT_EQ(profiler->recognise(log), 0);
  EXPECT_GT(profiler->recognise(events), 90);
  EXPECT_EQ(inspector->recognise(events), 0);
}

}  // namespace
}  // namespace weft::trace
