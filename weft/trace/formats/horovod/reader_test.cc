// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/horovod/reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>

#include "weft/trace/match/match.h"
#include "weft/trace/reader.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

/// Writes events like Horovod: one per line, with a comma after the last one and an unclosed list.
class Writer {
 public:
  Writer& tensor(int pid, const std::string& name) {
    return line(R"({"name": "process_name", "ph": "M", "pid": )" + std::to_string(pid) +
                R"(, "args": {"name": ")" + name + "\"}}");
  }
  Writer& begin(int pid, const std::string& name, int ts) {
    return line(R"({"ph": "B", "name": ")" + name + R"(", "ts": )" + std::to_string(ts) +
                R"(, "pid": )" + std::to_string(pid) + "}");
  }
  Writer& ready(int pid, int rank, int ts) {
    return line(R"({"ph": "X", "name": ")" + std::to_string(rank) + R"(", "ts": )" +
                std::to_string(ts) + R"(, "pid": )" + std::to_string(pid) + R"(, "dur": 0})");
  }
  Writer& end(int pid, int ts, const std::string& args = "") {
    return line(R"({"ph": "E", "ts": )" + std::to_string(ts) + R"(, "pid": )" +
                std::to_string(pid) + (args.empty() ? "" : ", \"args\": {" + args + "}") + "}");
  }
  Writer& line(const std::string& entry) {
    text += entry + ",\n";
    return *this;
  }
  std::string text = "[\n";
};

const char* const kFloat4 = R"("dtype": "float32", "shape": "[2, 2]")";

/// Two fused tensors in two steps. Rank 1 is late by 100 us in the first step and by 300 us in the
/// second step.
Writer two_steps() {
  Writer w;
  w.line(
      R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros":1700000000000000}})");
  w.tensor(1, "grad.a").tensor(2, "grad.b");
  int late = 100;
  for (const int t : {1000, 5000}) {
    w.begin(1, "NEGOTIATE_ALLREDUCE", t).ready(1, 0, t).ready(1, 1, t + late - 20);
    w.begin(2, "NEGOTIATE_ALLREDUCE", t + 10).ready(2, 0, t + 10).ready(2, 1, t + late);
    w.end(1, t + 500).end(2, t + 500);
    w.begin(1, "ALLREDUCE", t + 510).begin(2, "ALLREDUCE", t + 511);
    w.begin(1, "MEMCPY_IN_FUSION_BUFFER", t + 520).begin(2, "MEMCPY_IN_FUSION_BUFFER", t + 521);
    w.end(1, t + 530).end(2, t + 531);
    w.begin(1, "GLOO_ALLREDUCE", t + 540).begin(2, "GLOO_ALLREDUCE", t + 541);
    w.end(1, t + 1000).end(2, t + 1001);
    w.end(1, t + 1010, kFloat4).end(2, t + 1020, kFloat4);
    w.line(R"({"ph": "i", "name": "CYCLE_START", "ts": 1, "s": "g"})");
    late = 300;
  }
  return w;
}

Result<std::vector<RankTrace>> read(const std::string& text, Diagnostics& diagnostics,
                                    const std::string& name = "timeline.json") {
  const auto small = memory_source(text, name, 7);
  Diagnostics ignored;
  const auto once = make_horovod_reader()->read(*small, {}, ignored);
  const auto source = memory_source(text, name, 1 << 20);
  auto traces = make_horovod_reader()->read(*source, {}, diagnostics);
  EXPECT_EQ(once.has_value(), traces.has_value())
      << "the result must not depend on the window size";
  if (once && traces) {
    EXPECT_EQ(once->size(), traces->size());
  }
  return traces;
}

std::vector<std::uint32_t> of_kind(const RankTrace& trace, EventKind kind) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] == kind) found.push_back(i);
  }
  return found;
}

TEST(Horovod, CoordinatorGivesATraceOfEveryRankWithItsArrivals) {
  Diagnostics diagnostics;
  const auto ranks = read(two_steps().text, diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_TRUE(diagnostics.empty()) << "Horovod never closes the list";
  ASSERT_EQ(ranks->size(), 2u);
  const Nanos late[2] = {100'000, 300'000};
  for (const RankTrace& rank : *ranks) {
    EXPECT_EQ(rank.world, 2);
    EXPECT_EQ(rank.cut_at, -1);
    EXPECT_EQ(rank.epoch, 1'700'000'000'000'000'000);
    const auto kernels = of_kind(rank, EventKind::kKernel);
    ASSERT_EQ(kernels.size(), 2u) << "fused tensors are one collective";
    for (std::size_t k = 0; k < 2; ++k) {
      const Nanos base = k == 0 ? 1'000'000 : 5'000'000;
      const Nanos arrival = rank.rank == 0 ? 10'000 : late[k];
      EXPECT_EQ(rank.events.start[kernels[k]], base + arrival);
      EXPECT_EQ(rank.events.end(kernels[k]), base + 1'020'000);
      EXPECT_EQ(rank.names.text(rank.events.name[kernels[k]]), "ALLREDUCE (grad.a and 1 more)");
      const KernelDetail& kernel = rank.kernels.at(rank.events.detail[kernels[k]]);
      const CollectiveDetail& detail = rank.collectives.at(kernel.collective);
      EXPECT_EQ(detail.out_elements, 8);
      EXPECT_EQ(rank.names.text(detail.dtype), "float32");
      EXPECT_EQ(detail.sequence, static_cast<std::int64_t>(k));
    }
    ASSERT_EQ(rank.steps.size(), 1u) << "the start of the first step is unknown";
    EXPECT_EQ(rank.steps[0].number, 1);
    EXPECT_EQ(rank.steps[0].start, 2'020'000);
    EXPECT_EQ(rank.steps[0].end, 6'020'000);
  }
  const auto activities = of_kind((*ranks)[0], EventKind::kGpuAnnotation);
  EXPECT_EQ(activities.size(), 6u) << "negotiation, copy and transfer of each response";
  EXPECT_TRUE(of_kind((*ranks)[1], EventKind::kGpuAnnotation).empty());
}

TEST(Horovod, RanksOfOneFileMatchInEveryCollective) {
  Diagnostics diagnostics;
  auto ranks = read(two_steps().text, diagnostics);
  ASSERT_TRUE(ranks);
  trace::Run run;
  run.world = 2;
  run.ranks = std::move(*ranks);
  const auto matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 2u);
  for (const Match& match : matches) {
    EXPECT_EQ(match.kind, CollectiveKind::kAllReduce);
    EXPECT_TRUE(match.complete());
    EXPECT_EQ(match.bytes, 32);
  }
}

TEST(Horovod, TensorNamesDoNotDecideTheKindOfACollective) {
  Writer w;
  w.tensor(1, "allreduce.weight").begin(1, "NEGOTIATE_BROADCAST", 10).ready(1, 0, 10);
  w.ready(1, 1, 12).end(1, 20).begin(1, "BROADCAST", 30).end(1, 40);
  Diagnostics diagnostics;
  auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  trace::Run run;
  run.ranks = std::move(*ranks);
  const auto matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].kind, CollectiveKind::kBroadcast);
}

TEST(Horovod, CachedResponsesGiveOnlyTheRecordingRankAndADiagnostic) {
  Writer w;
  w.tensor(1, "grad");
  for (const int t : {100, 200}) {
    w.begin(1, "NEGOTIATE_ALLREDUCE", t).end(1, t + 20).begin(1, "ALLREDUCE", t + 30);
    w.end(1, t + 60, kFloat4);
  }
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics, "timeline_rank3.json");
  ASSERT_TRUE(ranks);
  ASSERT_EQ(ranks->size(), 1u);
  EXPECT_EQ(ranks->front().rank, 3);
  EXPECT_EQ(ranks->front().world, -1);
  EXPECT_EQ(diagnostics.count_of("horovod-arrivals-unknown"), 2);
  const auto kernels = of_kind(ranks->front(), EventKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(ranks->front().events.duration[kernels[0]], 60'000) << "from the negotiation's start";
}

TEST(Horovod, BroadcastsAtTheStartDoNotCountAsKnownArrivals) {
  Writer w;
  for (int tensor = 1; tensor <= 6; ++tensor) {
    w.tensor(tensor, "broadcast." + std::to_string(tensor));
    w.begin(tensor, "NEGOTIATE_BROADCAST", tensor * 10).ready(tensor, 0, tensor * 10);
    w.ready(tensor, 1, tensor * 10 + 1).end(tensor, tensor * 10 + 2);
    w.begin(tensor, "BROADCAST", tensor * 10 + 3).end(tensor, tensor * 10 + 4);
  }
  w.tensor(7, "grad");
  for (const int t : {100, 200, 300}) {
    w.begin(7, "NEGOTIATE_ALLREDUCE", t);
    if (t == 100) w.ready(7, 0, t).ready(7, 1, t + 10);
    w.end(7, t + 20).begin(7, "ALLREDUCE", t + 30).end(7, t + 60, kFloat4);
  }
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  ASSERT_EQ(ranks->size(), 1u) << "only one step of three has ready marks";
  EXPECT_EQ(ranks->front().rank, 0);
  EXPECT_EQ(ranks->front().world, 2);
  EXPECT_EQ(diagnostics.count_of("horovod-arrivals-unknown"), 2);
}

TEST(Horovod, HostWaitsForWhatItEnqueuedLast) {
  Diagnostics diagnostics;
  const auto ranks = read(two_steps().text, diagnostics);
  ASSERT_TRUE(ranks);
  for (const RankTrace& rank : *ranks) {
    const auto calls = of_kind(rank, EventKind::kRuntime);
    ASSERT_EQ(calls.size(), 3u);
    EXPECT_EQ(rank.names.text(rank.events.name[calls[1]]), "enqueue");
    EXPECT_EQ(rank.names.text(rank.events.name[calls[2]]), "synchronize");
    EXPECT_GT(rank.events.start[calls[2]], rank.events.end(calls[1]))
        << "a call waits only for work issued before it";
    EXPECT_EQ(rank.events.end(calls[2]), 6'020'000);
  }
}

TEST(Horovod, RecordedTimelineShowsTheLateRank) {
  // Recorded with tests/data/horovod/record.py: rank 1 sleeps 20 ms in each of six steps.
  const auto file = std::filesystem::path(WEFT_SOURCE_DIR) / "tests/data/horovod/timeline.json.gz";
  Diagnostics diagnostics;
  const auto recording = load({file.string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(recording->runs.size(), 1u);
  const trace::Run& run = recording->runs.front();
  EXPECT_EQ(run.world, 2);
  ASSERT_EQ(run.ranks.size(), 2u);
  for (const RankTrace& rank : run.ranks) EXPECT_EQ(rank.steps.size(), 5u);
  const auto matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 12u);
  const Bytes gradients = 4 * (64 * 256 + 256 + 256 * 64 + 64 + 64 * 10 + 10);
  int reductions = 0;
  for (const Match& match : matches) {
    EXPECT_TRUE(match.complete());
    if (match.kind == CollectiveKind::kBroadcast) continue;
    EXPECT_EQ(match.kind, CollectiveKind::kAllReduce);
    EXPECT_EQ(match.bytes, gradients) << "the six tensors of a step are fused";
    const auto arrival = [&](std::size_t r) {
      const auto kernels = of_kind(run.ranks[r], EventKind::kKernel);
      return run.ranks[r].events.start[kernels[static_cast<std::size_t>(6 + reductions)]];
    };
    EXPECT_GT(arrival(1) - arrival(0), 15 * kMillisecond);
    ++reductions;
  }
  EXPECT_EQ(reductions, 6);
}

TEST(Horovod, KilledJobKeepsItsCompleteCollectives) {
  const std::string text = two_steps().text;
  for (std::size_t size = 0; size < text.size(); ++size) {
    Diagnostics diagnostics;
    const auto source = memory_source(std::string_view(text).substr(0, size), "t.json", 64);
    const auto ranks = make_horovod_reader()->read(*source, {}, diagnostics);
    if (!ranks) {
      EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
      continue;
    }
    for (const RankTrace& rank : *ranks) {
      EXPECT_GE(of_kind(rank, EventKind::kKernel).size(), 1u);
      EXPECT_EQ(rank.cut_at >= 0, diagnostics.count_of("cut-file") == 1);
    }
  }
}

TEST(Horovod, UnmatchedEndsAndUnfinishedWorkAreCounted) {
  Writer w;
  w.tensor(1, "a").tensor(2, "b").end(2, 5);
  w.begin(1, "NEGOTIATE_ALLREDUCE", 10).end(1, 20).begin(1, "ALLREDUCE", 30).end(1, 40, kFloat4);
  w.begin(1, "NEGOTIATE_ALLREDUCE", 50).begin(2, "ALLREDUCE", 60).begin(2, "QUEUE", 61);
  w.line(R"({"ph": "B", "name": "ALLREDUCE", "ts": NaN, "pid": 1})");
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(diagnostics.count_of("unmatched-ends"), 1);
  EXPECT_EQ(diagnostics.count_of("unfinished-spans"), 2);
  EXPECT_EQ(diagnostics.count_of("event-without-time"), 1);
  EXPECT_EQ(of_kind(ranks->front(), EventKind::kKernel).size(), 1u);
}

TEST(Horovod, ControlCharactersInTensorNamesAreKeptAndCounted) {
  Writer w;
  w.tensor(1,
           "gr\x01"
           "ad\ttwo")
      .begin(1, "ALLREDUCE", 10)
      .end(1, 20, kFloat4);
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(diagnostics.count_of("control-characters"), 2);
  const RankTrace& rank = ranks->front();
  const auto kernels = of_kind(rank, EventKind::kKernel);
  EXPECT_EQ(rank.names.text(rank.events.name[kernels.at(0)]),
            "ALLREDUCE (gr\x01"
            "ad\ttwo)");
}

TEST(Horovod, QuoteInATensorNameLosesOnlyItsOwnEvent) {
  Writer w = two_steps();
  w.tensor(3, "odd\"name");
  w.begin(3, "ALLREDUCE", 9000).end(3, 9100, kFloat4);
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_GE(diagnostics.count_of("damaged-json"), 1);
  EXPECT_GE(of_kind(ranks->front(), EventKind::kKernel).size(), 2u);
}

TEST(Horovod, StepsThatOverlapAreNotMarked) {
  Writer w;
  w.tensor(1, "a").tensor(2, "b");
  w.begin(1, "ALLREDUCE", 10).end(1, 20).begin(2, "ALLREDUCE", 25).begin(1, "ALLREDUCE", 30);
  w.end(1, 40).end(2, 50).begin(2, "ALLREDUCE", 60).end(2, 70);
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_TRUE(ranks);
  EXPECT_TRUE(ranks->front().steps.empty());
}

TEST(Horovod, FileWithoutAFinishedCollectiveIsRefused) {
  Writer w;
  w.tensor(1, "a").begin(1, "NEGOTIATE_ALLREDUCE", 10);
  Diagnostics diagnostics;
  const auto ranks = read(w.text, diagnostics);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
}

TEST(Horovod, NoOtherReaderRecognisesTheFile) {
  const std::string text = two_steps().text;
  for (const auto& reader : readers()) {
    const bool own = std::string_view(reader->name()) == "horovod";
    EXPECT_EQ(reader->recognise(text) > 0, own) << reader->name();
  }
  EXPECT_EQ(
      make_horovod_reader()->recognise(
          R"({"traceEvents":[{"ph":"X","cat":"user_annotation","name":"NEGOTIATE_ALLREDUCE"}]})"),
      0);
}

}  // namespace
}  // namespace weft::trace
