// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/mxnet/reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "weft/trace/launches.h"
#include "weft/trace/match/match.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

constexpr std::int64_t kBegin = 1'700'000'000'000'000;  // microseconds

/// Writes events like MXNet: with ids of 64 bits, and the end of a record directly after its
/// beginning.
class Writer {
 public:
  Writer() {
    process("0", "cpu/0");
    process("1", "gpu/2");
    process("2", "cpu pinned/");
    process("849786139768988538", "MXNET_C_API");
    process("9785678402843609691", "Device Storage");
    process("669646635105912058", "train");
    process("3060606181218273969", "operator");
  }
  Writer& process(const std::string& pid, const std::string& name) {
    return entry(R"("ph": "M", "args": {"name": ")" + name + R"("}, "pid": )" + pid +
                 R"(, "name": "process_name")");
  }
  Writer& point(const std::string& ph, const std::string& cat, const std::string& name,
                const std::string& pid, int ts, const std::string& more = "") {
    return entry(R"("name": ")" + name + R"(", "cat": ")" + cat + R"(", "ph": ")" + ph +
                 R"(", "ts": )" + std::to_string(kBegin + ts) + more + R"(, "pid": )" + pid +
                 R"(, "tid": 10297278693826444804)");
  }
  Writer& op(const std::string& name, const std::string& pid, int from, int to) {
    return point("B", "operator", name, pid, from).point("E", "operator", name, pid, to);
  }
  Writer& async(const std::string& cat, const std::string& name, const std::string& pid, int from,
                int to) {
    return point("b", cat, name, pid, from).point("e", cat, name, pid, to);
  }
  Writer& call(const std::string& name, int from, int to) {
    return async("MXNET_C_API", name, "849786139768988538", from, to);
  }
  Writer& step(const std::string& name, int from, int to) {
    return async("train", name, "669646635105912058", from, to);
  }
  Writer& entry(const std::string& members) {
    body += (body.empty() ? "" : ",\n") + ("{" + members) + "}";
    return *this;
  }
  std::string text() const {
    return "{\n    \"traceEvents\": [\n" + body + "\n    ],\n    \"displayTimeUnit\": \"ms\"\n}\n";
  }
  std::string body;
};

struct Reading {
  RankTrace trace;
  Diagnostics diagnostics;
};

Reading read(const std::string& text, const std::string& name = "profile_rank1.json") {
  Reading result;
  for (const std::size_t piece : {std::size_t{7}, std::size_t{1} << 20}) {
    const auto source = memory_source(text, name, piece);
    result = {};
    auto traces = make_mxnet_reader()->read(*source, {}, result.diagnostics);
    EXPECT_TRUE(traces) << traces.error().text();
    if (traces) result.trace = std::move(traces->front());
  }
  return result;
}

std::int64_t find(const RankTrace& trace, std::string_view name) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.names.text(trace.events.name[i]) == name) return static_cast<std::int64_t>(i);
  }
  return -1;
}

TEST(Mxnet, EngineOperatorsAreDeviceWorkOfTheCallThatPushedThem) {
  Writer w;
  w.op("Convolution", "1", 20, 50).op("CopyCPU2GPU", "1", 60, 70);
  w.call("MXImperativeInvokeEx", 10, 15).call("MXNDArrayGetContext", 16, 17);
  const Reading r = read(w.text());
  const RankTrace& t = r.trace;
  EXPECT_TRUE(r.diagnostics.empty());
  EXPECT_EQ(t.rank, 1);
  EXPECT_EQ(t.epoch, (kBegin + 10) * kMicrosecond);
  ASSERT_EQ(t.events.size(), 4u);
  EXPECT_EQ(t.events.kind[0], EventKind::kKernel);
  EXPECT_EQ(t.events.start[0], 10'000);
  EXPECT_EQ(t.events.duration[0], 30'000);
  EXPECT_EQ(t.events.kind[1], EventKind::kMemcpy);
  EXPECT_EQ(t.lanes[t.events.lane[0]].device, 2);
  EXPECT_TRUE(t.lanes[t.events.lane[0]].on_device);
  EXPECT_FALSE(t.lanes[t.events.lane[2]].on_device);
  const Launches launches = resolve_launches(t);
  EXPECT_EQ(launches.launcher[0], 2u);
  EXPECT_EQ(launches.launcher[1], 2u) << "this call cannot push work";
}

TEST(Mxnet, OperatorsWrittenTwiceCountOnce) {
  Writer w;
  w.op("dot", "0", 20, 50).async("operator", "dot", "3060606181218273969", 20, 50);
  EXPECT_EQ(read(w.text()).trace.events.size(), 1u);
}

TEST(Mxnet, EndBelongsToTheBeginningBeforeItInTheFile) {
  // Three overlapping exchanges on one thread, sorted by end.
  Writer w;
  w.op("KVStoreDistDefaultStoragePushPull", "2", 30, 60);
  w.op("KVStoreDistDefaultStoragePushPull", "2", 20, 70);
  w.op("KVStoreDistDefaultStoragePushPull", "2", 10, 80);
  const RankTrace t = read(w.text()).trace;
  ASSERT_EQ(t.events.size(), 3u);
  EXPECT_EQ(t.events.duration[0], 30'000);
  EXPECT_EQ(t.events.duration[1], 50'000);
  EXPECT_EQ(t.events.duration[2], 70'000);
  EXPECT_NE(t.events.lane[0], t.events.lane[1]) << "overlapping work is on different lanes";
  EXPECT_NE(t.events.lane[1], t.events.lane[2]);
  EXPECT_NE(t.events.lane[0], t.events.lane[2]);
}

TEST(Mxnet, PushesAndPullsOfADistributedStoreAreCollectives) {
  Writer w;
  w.op("KVStoreDistDefaultPush", "2", 10, 20).op("KVStoreDistDefaultStoragePull", "2", 30, 40);
  w.op("KVStoreReduce", "0", 50, 60);
  trace::Run run;
  run.ranks.push_back(read(w.text(), "a_rank0.json").trace);
  run.ranks.push_back(read(w.text(), "a_rank1.json").trace);
  EXPECT_EQ(run.ranks[0].collectives.size(), 2u)
      << "a reduction within the process is not a collective";
  Diagnostics diagnostics;
  const auto matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 2u);
  for (const Match& match : matches) {
    EXPECT_EQ(match.kind, CollectiveKind::kPushPull);
    EXPECT_EQ(match.members.size(), 2u);
  }
}

TEST(Mxnet, ExchangesAreNumberedByStepSoThatWorkersMatchDespiteClockJumps) {
  trace::Run run;
  for (const int late : {0, 35}) {
    Writer w;
    for (const int step : {4, 5}) {
      const int at = 200 * (step - 4);
      w.step("step " + std::to_string(step), at, at + 190);
      w.op("KVStoreDistDefaultPush", "2", at + 10, at + 20 + late);
      w.op("KVStoreDistDefaultPush", "2", at + 12, at + 150 - late);
      w.op("KVStoreDistDefaultStoragePull", "2", at + 30, at + 180);
    }
    run.ranks.push_back(read(w.text(), late == 0 ? "a_rank0.json" : "a_rank1.json").trace);
  }
  Diagnostics diagnostics;
  const auto matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 6u);
  for (const Match& match : matches) {
    ASSERT_EQ(match.members.size(), 2u);
    EXPECT_EQ(match.members[0].event, match.members[1].event);
  }
}

TEST(Mxnet, TasksWithANumberMarkSteps) {
  Writer w;
  w.op("dot", "0", 20, 50).step("Step 7", 10, 60).step("iter_8", 70, 90).step("epoch 1", 5, 99);
  w.step("step seven", 1, 2);
  const RankTrace t = read(w.text()).trace;
  ASSERT_EQ(t.steps.size(), 2u);
  EXPECT_EQ(t.steps[0].number, 7);
  EXPECT_EQ(t.steps[1].number, 8);
  EXPECT_EQ(t.steps[1].end - t.steps[1].start, 20'000);
}

TEST(Mxnet, MemoryCountersBecomeChanges) {
  Writer w;
  w.op("dot", "0", 20, 50);
  for (const int in_use : {4096, 8192, 1024}) {
    w.point("C", "Device Storage", "Memory: gpu/2", "9785678402843609691", 20,
            R"(, "args": {"Memory: gpu/2": )" + std::to_string(in_use) + "}");
  }
  const RankTrace t = read(w.text()).trace;
  ASSERT_EQ(t.memory.size(), 3u);
  EXPECT_EQ(t.memory[0].bytes, 4096);
  EXPECT_EQ(t.memory[2].bytes, -7168);
  EXPECT_EQ(t.memory[2].total_allocated, 1024);
  EXPECT_EQ(t.memory[2].device, 2);
}

TEST(Mxnet, CutFileKeepsItsCompleteEvents) {
  Writer w;
  for (int i = 0; i < 8; ++i) w.op("dot", "0", 100 * i, 100 * i + 50);
  const std::string text = w.text();
  std::size_t last = 0;
  for (std::size_t size = 0; size < text.rfind('}'); size += 3) {
    Diagnostics diagnostics;
    const auto source = memory_source(std::string_view(text).substr(0, size), "t.json", 64);
    const auto traces = make_mxnet_reader()->read(*source, {}, diagnostics);
    if (!traces) {
      EXPECT_EQ(last, 0u) << "a longer prefix never gives fewer events";
      EXPECT_EQ(traces.error().code, ErrorCode::kBadInput);
      continue;
    }
    EXPECT_GE(traces->front().events.size(), last);
    EXPECT_EQ(diagnostics.count_of("cut-file"), 1);
    EXPECT_GE(traces->front().cut_at, 0);
    last = traces->front().events.size();
  }
  EXPECT_EQ(last, 8u);
}

TEST(Mxnet, UnmatchedBeginningsAndEndsAreCounted) {
  Writer w;
  w.point("E", "operator", "lost", "0", 5).op("dot", "0", 10, 20);
  w.point("B", "operator", "open", "0", 30).point("E", "operator", "other", "0", 40);
  w.entry(R"("ph": "B", "name": "x", "cat": "operator", "ts": Infinity, "pid": 0, "tid": 1)");
  const Reading r = read(w.text());
  EXPECT_EQ(r.trace.events.size(), 1u);
  EXPECT_EQ(r.diagnostics.count_of("unmatched-ends"), 2);
  EXPECT_EQ(r.diagnostics.count_of("unfinished-spans"), 1);
  EXPECT_EQ(r.diagnostics.count_of("event-without-time"), 1);
}

TEST(Mxnet, ControlCharactersInNamesAreKeptAndCounted) {
  Writer w;
  w.op("d\x02ot", "0", 10, 20);
  const Reading r = read(w.text());
  EXPECT_GE(find(r.trace, "d\x02ot"), 0);
  EXPECT_EQ(r.diagnostics.count_of("control-characters"), 2);
}

TEST(Mxnet, ProfileWithoutWorkIsRefused) {
  const std::string text = Writer().text();
  const auto source = memory_source(text, "t.json");
  Diagnostics diagnostics;
  const auto traces = make_mxnet_reader()->read(*source, {}, diagnostics);
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().code, ErrorCode::kBadInput);
}

TEST(Mxnet, ProfileWithoutAPlausibleTimeIsRefused) {
  const auto source = memory_source(
      R"({"traceEvents":[{"ph":"X","name":"dot","ts":1,"dur":973709551615,"pid":0,"tid":1}]})",
      "t.json");
  Diagnostics diagnostics;
  const auto traces = make_mxnet_reader()->read(*source, {}, diagnostics);
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().code, ErrorCode::kBadInput);
}

TEST(Mxnet, ItsReaderHasTheHighestScore) {
  const std::string text = Writer().op("dot", "0", 1, 2).text();
  int best = 0;
  std::string who;
  for (const auto& reader : readers()) {
    if (reader->recognise(text) <= best) continue;
    best = reader->recognise(text);
    who = reader->name();
  }
  EXPECT_EQ(who, "mxnet");
}

TEST(Mxnet, RecordingOfTwoWorkersIsReadCompletely) {
  // Recorded with tests/data/mxnet/record.py: two workers and a server, three steps.
  const auto folder = std::filesystem::path(WEFT_SOURCE_DIR) / "tests" / "data" / "mxnet";
  Diagnostics diagnostics;
  const auto recording = load({folder.string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->runs.size(), 1u);
  const trace::Run& run = recording->runs.front();
  ASSERT_EQ(run.ranks.size(), 2u);
  for (const RankTrace& rank : run.ranks) {
    EXPECT_EQ(rank.format, "mxnet");
    EXPECT_EQ(rank.steps.size(), 3u);
    EXPECT_EQ(rank.collectives.size(), 12u) << "four parameters in three steps";
  }
  const auto matches = match_calls(run, diagnostics);
  for (const Match& match : matches) EXPECT_EQ(match.members.size(), 2u);
  EXPECT_EQ(matches.size(), 12u);
}

}  // namespace
}  // namespace weft::trace
