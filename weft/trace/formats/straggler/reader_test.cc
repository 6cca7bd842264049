// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/straggler/reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>

namespace weft::trace {
namespace {

std::string event(const char* name, int pid, int tid, const char* ts, const char* dur, int step,
                  const char* rest = R"("model_chunk":0,"mb_id":2,"seq_id":3)") {
  return std::string(R"({"name":")") + name + R"(","cat":"x","pid":)" + std::to_string(pid) +
         R"(,"tid":)" + std::to_string(tid) + R"(,"ts":)" + ts + R"(,"dur":)" + dur +
         R"(,"ph":"X","args":{"step":)" + std::to_string(step) + "," + rest + "}}";
}

std::string track(int pid, int tid, const char* name) {
  return std::string(R"({"name":"thread_name","pid":)") + std::to_string(pid) + R"(,"tid":)" +
         std::to_string(tid) + R"(,"ph":"M","args":{"name":")" + name + R"("}})";
}

std::string list(std::initializer_list<std::string> entries) {
  std::string text(1, '[');
  for (const std::string& entry : entries) {
    if (text.size() > 1) text += ',';
    text += entry;
  }
  return text + "]";
}

Result<std::vector<RankTrace>> read(const std::string& text, Diagnostics& diagnostics) {
  const auto source = memory_source(text, "made.json", 16);
  return make_straggler_reader()->read(*source, {}, diagnostics);
}

TEST(StragglerReader, OneFileGivesAllWorkersWithStageReplicaAndPhases) {
  // The file shows one rank of each tensor-parallel pair: ranks 0 and 2 of a world of 4.
  const std::string text = list(
      {event("forward-compute", 0, 0, "1.5", "2.0005", 7), event("forward-send", 0, 1, "4", "1", 7),
       event("forward-compute", 0, 10, "5", "2", 7), track(0, 0, "PP rank 0, TP rank 0, compute"),
       track(0, 1, "PP rank 0, TP rank 0, pp-comm"),
       track(0, 10, "PP rank 1, TP rank 0, compute")});
  Diagnostics diagnostics;
  const auto ranks = read(text, diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(ranks->size(), 2u);
  const RankTrace& first = (*ranks)[0];
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ((*ranks)[1].rank, 2);
  EXPECT_EQ((*ranks)[1].world, 4);
  EXPECT_EQ((*ranks)[1].stage, 1);
  EXPECT_EQ((*ranks)[1].replica, 0);
  ASSERT_EQ(first.events.size(), 2u);
  EXPECT_EQ(first.events.start[0], 1500);
  EXPECT_EQ(first.events.duration[0], 2001) << "half a nanosecond is rounded up";
  EXPECT_EQ(first.events.kind[0], EventKind::kPhase);
  EXPECT_EQ(first.names.text(first.events.name[1]), "forward-send");
  EXPECT_EQ(first.phases[0].step, 7);
  EXPECT_EQ(first.phases[0].chunk, 0);
  EXPECT_EQ(first.phases[0].micro_batch, 2);
  EXPECT_EQ(first.phases[0].sequence, 3);
  ASSERT_EQ(first.steps.size(), 1u);
  EXPECT_EQ(first.steps[0].start, 1500);
  EXPECT_EQ(first.steps[0].end, 5000);
}

TEST(StragglerReader, TakesTraceEventsInAnObjectAndNullArguments) {
  const std::string text =
      R"({"other":[1,{}],"traceEvents":)" +
      list({event("gc", 0, 0, "1", "0", 7, R"("model_chunk":null,"mb_id":null,"seq_id":0)"),
            track(0, 0, "PP rank 0, TP rank 0, compute")}) +
      "}";
  Diagnostics diagnostics;
  const auto ranks = read(text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_EQ((*ranks)[0].phases[0].chunk, -1);
  EXPECT_EQ((*ranks)[0].phases[0].micro_batch, -1);
}

TEST(StragglerReader, CutFileLosesItsLastStepAndNumbersStagesByRank) {
  const std::string whole = list(
      {event("forward-compute", 0, 0, "1", "2", 7), event("forward-compute", 0, 5, "3", "2", 7),
       event("forward-compute", 0, 0, "11", "2", 8), event("forward-compute", 0, 5, "13", "2", 8)});
  Diagnostics diagnostics;
  const auto ranks = read(whole.substr(0, whole.size() - 20), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_EQ(diagnostics.count_of("timeline-step-cut"), 1);
  EXPECT_EQ(diagnostics.count_of("timeline-track-names-missing"), 2);
  ASSERT_EQ(ranks->size(), 2u);
  EXPECT_EQ((*ranks)[1].stage, 1);
  EXPECT_EQ((*ranks)[1].events.size(), 1u);
}

TEST(StragglerReader, UnusableEventsAreLeftOutAndCounted) {
  const std::string text = list({event("a", 0, 0, "NaN", "2", 7), event("b", 0, 0, "1", "-2", 7),
                                 event("c", -1, 0, "1", "2", 7), event("d", 0, 0, "1e300", "2", 7),
                                 event("e", 0, 0, "1", "2", -4), event("f", 0, 0, "1", "2", 7),
                                 "17", track(0, 0, "PP rank 0, TP rank 0, compute")});
  Diagnostics diagnostics;
  const auto ranks = read(text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(diagnostics.count_of("timeline-bad-event"), 5);
  EXPECT_EQ((*ranks)[0].events.size(), 1u);
}

TEST(StragglerReader, FileWithoutStepIsAnError) {
  for (const char* text : {"", "[]", "{}", "17", "[{\"ph\":\"X\"}]", "[{"}) {
    Diagnostics diagnostics;
    const auto ranks = read(text, diagnostics);
    ASSERT_FALSE(ranks) << text;
    EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
  }
}

TEST(StragglerReader, CanBeCancelled) {
  const std::string text = list({event("f", 0, 0, "1", "2", 7)});
  const auto source = memory_source(text, "made.json");
  Diagnostics diagnostics;
  ReadOptions options;
  options.progress = [](std::int64_t) { return false; };
  const auto ranks = make_straggler_reader()->read(*source, options, diagnostics);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kCancelled);
}

TEST(StragglerReader, RecognisesOnlyItsOwnFiles) {
  const auto reader = make_straggler_reader();
  EXPECT_GT(reader->recognise(list({event("forward-compute", 0, 0, "1", "2", 7)})), 90);
  EXPECT_EQ(reader->recognise(R"({"schemaVersion": 1, "traceEvents": [{"ph": "X"}]})"), 0);
}

TEST(StragglerReader, ReadsThePublishedTimelines) {
  const std::string folder =
      std::string(WEFT_SOURCE_DIR) + "/../shared/traces/ByteDance-Seed_StragglerAnalysis/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
  struct Expected {
    const char* file;
    std::size_t workers, events, steps;
    std::int32_t world;
  };
  for (const Expected& e : {Expected{"timeline-ST.json.gz", 8, 6784, 32, 8},
                            Expected{"timeline-AR.json.gz", 16, 117216, 44, 64}}) {
    auto source = open_file(folder + e.file);
    ASSERT_TRUE(source) << source.error().text();
    Diagnostics diagnostics;
    const auto ranks = make_straggler_reader()->read(**source, {}, diagnostics);
    ASSERT_TRUE(ranks) << ranks.error().text();
    EXPECT_TRUE(diagnostics.empty());
    EXPECT_EQ(ranks->size(), e.workers);
    std::size_t events = 0;
    for (const RankTrace& rank : *ranks) {
      events += rank.events.size();
      EXPECT_EQ(rank.steps.size(), e.steps);
      EXPECT_EQ(rank.world, e.world);
    }
    EXPECT_EQ(events, e.events);
  }
}

}  // namespace
}  // namespace weft::trace
