// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "weft/trace/formats/nccl/nccl.h"
#include "weft/trace/match/match.h"

namespace weft::trace {
namespace {

/// Writes the line of an event. `at` and `to` are in microseconds.
std::string event(const std::string& type, int rank, double at, double to,
                  const std::string& parent, const std::string& address, const std::string& details,
                  const std::string& rest = "") {
  const auto end = [&](double time) {
    return R"({"ts":)" + std::to_string(time) + R"(,"pid":70,"tid":)" + std::to_string(80 + rank) +
           "}";
  };
  return R"({"recordType":"event","type":")" + type + R"(","gpuUuid":"gpu)" + std::to_string(rank) +
         R"(","commId":12345678901234567890,"rank":)" + std::to_string(rank) + R"(,"start":)" +
         end(at) + R"(,"stop":)" + end(to) + R"(,"parentObj":")" + parent + R"(","eventAddr":")" +
         address + "\"" + rest + R"(,"details":{)" + details + "}}\n";
}

std::string init(int rank, int ranks) {
  return R"({"type":"ProfilerLifecycle","func":"ProfilerInit","gpuUuid":"gpu)" +
         std::to_string(rank) + R"(","commId":12345678901234567890,"rank":)" +
         std::to_string(rank) +
         R"(,"start":{"ts":1.0,"pid":70,"tid":1},"stop":{"ts":1.0,"pid":70,"tid":1},"details":)" +
         R"({"nranks":)" + std::to_string(ranks) + "}}\n";
}

std::string coll(int rank, double at, const std::string& address, int sequence,
                 const std::string& function = "AllReduce") {
  return event("ncclProfileColl", rank, at, at + 5, "null", address,
               R"("func":")" + function + R"(","seq":)" + std::to_string(sequence) +
                   R"(,"count":1000,"dtype":"ncclBfloat16")");
}

std::string message(int rank, double at, const char* function, int peer, int count) {
  return event("ncclProfileP2p", rank, at, at + 5, "null", "0x1",
               R"("func":")" + std::string(function) + R"(","peer":)" + std::to_string(peer) +
                   R"(,"count":)" + std::to_string(count) + R"(,"dtype":"ncclFloat32")");
}

std::string launch(int rank, double at, int link) {
  return event("ncclProfileKernelLaunch", rank, at, at + 8, "null", "0x9", R"("stream":"0x77")",
               R"(,"extCorrId":)" + std::to_string(link));
}

std::string kernel(double at, double to, int link,
                   const std::string& name = "_Z25ncclDevKernel_AllReduce_x16ncclStorage") {
  return R"({"recordType":"cuptiActivity","type":"KERNEL","extCorrId":)" + std::to_string(link) +
         R"(,"gpuUuid":"gpu0","start":{"ts":)" + std::to_string(at) +
         R"(,"pid":70,"tid":3},"stop":{"ts":)" + std::to_string(to) +
         R"(,"pid":70,"tid":3},"name":")" + name + "\"}\n";
}

std::string channel(int rank, double at, double to, const std::string& parent,
                    std::int64_t gpu_start, std::int64_t gpu_stop) {
  return R"({"recordType":"state","eventAddr":"0xc","ts":1.0,"name":"KernelChStop","pid":70,)"
         R"("tid":1,"pTimer":)" +
         std::to_string(gpu_stop) + "}\n" +
         event("ncclProfileKernelCh", rank, at, to, parent, "0xc",
               R"("channel":0,"pTimer":)" + std::to_string(gpu_start));
}

Result<std::vector<RankTrace>> read(const std::string& text, Diagnostics& diagnostics) {
  const auto source = memory_source(text, "job.jsonl", 64);
  return make_nccl_profiler_reader()->read(*source, {}, diagnostics);
}

trace::Run read_run(const std::string& text, Diagnostics& diagnostics) {
  trace::Run run;
  auto ranks = read(text, diagnostics);
  EXPECT_TRUE(ranks) << ranks.error().text();
  if (ranks) run.ranks = std::move(*ranks);
  run.world = static_cast<std::int32_t>(run.ranks.size());
  return run;
}

std::uint32_t first(const RankTrace& trace, EventKind kind) {
  return static_cast<std::uint32_t>(
      std::find(trace.events.kind.begin(), trace.events.kind.end(), kind) -
      trace.events.kind.begin());
}

TEST(NcclProfiler, LaunchKernelAndArgumentsAreConnected) {
  std::string text;
  for (int r = 1; r >= 0; --r) {
    text += init(r, 2) +
            event("ncclProfileCollApi", r, 100, 110, "null", "0x5", R"("func":"AllReduce")") +
            launch(r, 120 + r, 7 + r) + coll(r, 130 + r, "0xa", 4) + kernel(140 + r, 300, 7 + r);
  }
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(run.ranks.size(), 2u);
  for (const RankTrace& trace : run.ranks) {
    EXPECT_EQ(trace.world, 2);
    EXPECT_EQ(trace.process, 70);
    ASSERT_EQ(trace.events.size(), 3u);
    const std::uint32_t device = first(trace, EventKind::kKernel);
    EXPECT_EQ(trace.names.text(trace.events.name[device]), "ncclDevKernel_AllReduce_x");
    EXPECT_EQ(trace.epoch + trace.events.end(device), 300 * kMicrosecond);
    EXPECT_EQ(trace.events.duration[device], (160 - trace.rank) * kMicrosecond);
    EXPECT_EQ(trace.lanes[trace.events.lane[device]].tid, 0x77);
    EXPECT_EQ(resolve_launches(trace).launcher[device], first(trace, EventKind::kRuntime));
  }
  const std::vector<Match> matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_TRUE(matches[0].complete());
  EXPECT_EQ(matches[0].bytes, 2000);
  EXPECT_EQ(matches[0].sequence, 4);
  EXPECT_EQ(matches[0].group, "12345678901234567890");
}

TEST(NcclProfiler, WithoutKernelsTheGpuClockGivesTheLength) {
  // There are two operations at the same address. The channels of the first operation end before
  // the second operation begins.
  const std::string text = init(0, 2) + channel(0, 130, 200, "0xa", 5'000, 85'000) +
                           channel(0, 140, 190, "0xa", 15'000, 70'000) + coll(0, 100, "0xa", 0) +
                           coll(0, 300, "0xa", 1) + channel(0, 330, 400, "0xa", -1, -1);
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  ASSERT_EQ(run.ranks.size(), 1u);
  // Each operation becomes two events: an enqueue call and a kernel.
  const Events& events = run.ranks[0].events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(run.ranks[0].epoch, 100 * kMicrosecond);
  EXPECT_EQ(events.kind[0], EventKind::kRuntime);
  EXPECT_EQ(events.correlation[0], events.correlation[1]);
  EXPECT_EQ(events.start[1], 20 * kMicrosecond);
  EXPECT_EQ(events.duration[1], 80 * kMicrosecond);
  EXPECT_EQ(events.start[3], 230 * kMicrosecond);
  EXPECT_EQ(events.duration[3], 70 * kMicrosecond)
      << "without the GPU clock, the host's times count";
}

TEST(NcclProfiler, WithoutKernelEventsTheEnqueueTimesAreUsed) {
  Diagnostics diagnostics;
  const trace::Run run = read_run(init(0, 2) + coll(0, 100, "0xa", 0), diagnostics);
  EXPECT_EQ(diagnostics.count_of("nccl-enqueue-times"), 1);
  EXPECT_EQ(run.ranks.at(0).events.duration.at(1), 5 * kMicrosecond);
}

TEST(NcclProfiler, MessagesOfOneLaunchStayTogether) {
  const std::string kSendRecv = "ncclDevKernel_SendRecv";
  std::string text;
  for (int r = 0; r < 2; ++r) {
    text += init(r, 2) + launch(r, 100, r) + message(r, 110, "Send", 1 - r, 100 + r) +
            message(r, 111, "Recv", 1 - r, 101 - r) + kernel(120, 200, r, kSendRecv) +
            launch(r, 300, 10 + r) + message(r, 310, r == 0 ? "Send" : "Recv", 1 - r, 7) +
            kernel(320, 400, 10 + r, kSendRecv);
  }
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  const auto calls = find_calls(run);
  ASSERT_EQ(calls.size(), 2u);
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(calls[r].size(), 2u);
    const std::vector<Message> both = {{1 - r, true, 4 * (100 + r)}, {1 - r, false, 4 * (101 - r)}};
    EXPECT_EQ(calls[r][0].messages, both);
    const std::vector<Message> one = {{1 - r, r == 0, 28}};
    EXPECT_EQ(calls[r][1].messages, one);
  }
}

TEST(NcclProfiler, SizesOfCallsInOneKernelAddUp) {
  const std::string text = init(0, 2) + launch(0, 100, 1) + coll(0, 110, "0xa", 0) +
                           coll(0, 112, "0xb", 1) + kernel(120, 200, 1);
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  const auto calls = find_calls(run);
  ASSERT_EQ(calls[0].size(), 1u);
  EXPECT_EQ(calls[0][0].bytes, 4000);
}

TEST(NcclProfiler, DamagedLineIsDroppedAlone) {
  const std::string text = init(0, 2) + "{\"recordType\":\"event\",]]\nhello\n[1,2]\n" +
                           coll(0, 100, "0xa", 0) + coll(0, 200, "0xb", 1).substr(0, 90);
  Diagnostics diagnostics;
  const trace::Run run = read_run(text, diagnostics);
  EXPECT_EQ(run.ranks.at(0).kernels.size(), 1u);
  EXPECT_GE(diagnostics.count_of("damaged-lines"), 1);
  EXPECT_EQ(diagnostics.count_of("cut-file"), 1);
}

TEST(NcclProfiler, FileWithoutCommunicationIsAnError) {
  for (const std::string& text : {std::string(), init(0, 1), std::string("{}\n{\n")}) {
    Diagnostics diagnostics;
    const auto ranks = read(text, diagnostics);
    ASSERT_FALSE(ranks);
    EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
  }
}

TEST(NcclProfiler, CanBeCancelled) {
  const std::string text = init(0, 1);
  const auto source = memory_source(text, "job.jsonl");
  Diagnostics diagnostics;
  ReadOptions options;
  options.progress = [](std::int64_t) { return false; };
  const auto ranks = make_nccl_profiler_reader()->read(*source, options, diagnostics);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kCancelled);
}

TEST(NcclProfiler, ReadsThePublishedFile) {
  const std::string file =
      std::string(WEFT_SOURCE_DIR) +
      "/../shared/traces/pha-Z_nccl/trace-2762285-collectives-all-reduces-single-node.jsonl.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " does not exist";
  auto source = open_file(file);
  ASSERT_TRUE(source) << source.error().text();
  Diagnostics diagnostics;
  trace::Run run;
  auto ranks = make_nccl_profiler_reader()->read(**source, {}, diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_TRUE(diagnostics.empty());
  run.ranks = std::move(*ranks);
  ASSERT_EQ(run.ranks.size(), 4u);
  const std::vector<Match> matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_TRUE(matches[0].complete());
  EXPECT_EQ(matches[0].bytes, 4 * 33554432);
  // All members end together; rank 3 was launched first and waited longest.
  for (const Member& member : matches[0].members) {
    const RankTrace& trace = run.ranks[member.rank];
    EXPECT_NEAR(static_cast<double>(trace.epoch + trace.events.end(member.event)), 8993954367598e3,
                15e3);
    EXPECT_TRUE(trace.rank != 3 || trace.events.duration[member.event] == 14'163'250);
  }
}

}  // namespace
}  // namespace weft::trace
