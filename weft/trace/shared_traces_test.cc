// SPDX-License-Identifier: Apache-2.0
// Reads every recording of the development set completely. The expected counts come from the README
// of this set; another parser counted them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "weft/base/file.h"
#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

const fs::path kShared = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "traces";

#define NEED_SHARED() \
  if (!fs::exists(kShared)) GTEST_SKIP() << "the shared recordings are not beside this checkout"

Recording read(const fs::path& path, Diagnostics& diagnostics) {
  auto recording = load({(kShared / path).string()}, {}, diagnostics);
  EXPECT_TRUE(recording) << path << ": " << recording.error().text();
  return recording ? std::move(*recording) : Recording{};
}

std::int64_t count(const RankTrace& trace, EventKind kind, std::string_view name = {}) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != kind) continue;
    n += trace.names.text(trace.events.name[i]).find(name) != std::string_view::npos ? 1 : 0;
  }
  return n;
}

struct OneFile {
  std::int64_t events;
  std::int64_t kernels;  ///< -1: not stated
  std::int32_t rank, world;
  std::vector<double> steps_ms;
};

TEST(SharedTraces, SingleFilesHoldWhatTheirReadmeSays) {
  NEED_SHARED();
  const std::string hta = "facebookresearch_HolisticTraceAnalysis/";
  const std::pair<std::string, OneFile> cases[] = {
      {hta + "nccl_parser_config/nccl_data.json.gz", {40573, 2700, 0, 2, {222.4, 219.7, 224.9}}},
      {hta + "df_index_resolver/df_index_resolver.json.gz",
       {216092, 19370, 1, 2, {345.8, 365.3, 346.1, 344.3, 336.3}}},
      {hta + "trace_diff/control/control.json.gz",
       {109123, 8568, 3, 8, {75.5, 76.9, 76.2, 76.7, 78.5, 81.1}}},
      {hta + "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
       {68692, 4350, 0, 1, {}}},
      {hta + "trace_filter/sampled_rank-0.json.gz", {4855, -1, 0, 128, {607.3, 622.9}}},
      {hta + "trace_filter/sampled_rank-1.json.gz", {4720, -1, 1, 128, {607.9, 630.6}}},
      {hta + "amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", {220, 14, 0, 1, {}}},
      {hta + "critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
       {1348, 79, 0, 1, {}}},
      {"AMD-AGI_TraceLens/mi300/resnet_act_checkpoint.json.gz",
       {56451, 2995, 0, 8, {16.8, 16.0, 15.9}}},
      {"pytorch_kineto/resnet50_num_workers_0/worker0.1623143566756.pt.trace.json.gz",
       {75718, 8772, 0, 1, {}}},
      {"facebookresearch_param/linear_kineto.json.gz", {86859, 8716, 0, 1, {}}},
      {"sarchlab_triosim/profiler_vgg13-iter41.json.gz", {4638, 292, 0, 1, {}}},
  };
  for (const auto& [path, expected] : cases) {
    Diagnostics diagnostics;
    const Recording recording = read(path, diagnostics);
    ASSERT_EQ(recording.runs.size(), 1u) << path;
    const RankTrace& trace = recording.runs[0].ranks.at(0);
    EXPECT_EQ(trace.facts.total_events, expected.events) << path;
    if (expected.kernels >= 0) {
      EXPECT_EQ(count(trace, EventKind::kKernel), expected.kernels) << path;
    }
    EXPECT_EQ(trace.rank, expected.rank) << path;
    EXPECT_EQ(recording.runs[0].world, expected.world) << path;
    if (!expected.steps_ms.empty()) {
      ASSERT_EQ(trace.steps.size(), expected.steps_ms.size()) << path;
    }
    for (std::size_t i = 0; i < expected.steps_ms.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(trace.steps[i].end - trace.steps[i].start) * 1e-6,
                  expected.steps_ms[i], 0.0501)
          << path;
    }
    for (const char* id : {"damaged-json", "cut-file", "clock-jump", "event-without-time",
                           "device-before-launch", "time-gap", "step-order"}) {
      EXPECT_EQ(diagnostics.count_of(id), 0) << path << ": " << id;
    }
  }
}

TEST(SharedTraces, DetailsOfTheirKindAreKept) {
  NEED_SHARED();
  const fs::path hta = "facebookresearch_HolisticTraceAnalysis";
  Diagnostics d;
  const RankTrace memory = std::move(read(hta / "df_index_resolver", d).runs[0].ranks[0]);
  EXPECT_EQ(memory.memory.size(), 28010u);
  EXPECT_EQ(count(memory, EventKind::kKernel, "AllReduce"), 2020);
  EXPECT_TRUE(memory.facts.memory_events && !memory.facts.collective_args);

  const RankTrace args = std::move(read(hta / "nccl_parser_config", d).runs[0].ranks[0]);
  EXPECT_TRUE(args.facts.collective_args);
  EXPECT_EQ(args.flows.size(), 2u * 543);
  EXPECT_EQ(args.groups.at(0).description, "default_pg");
  EXPECT_EQ(args.groups.at(0).ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(count(args, EventKind::kKernel, "ncclDevKernel") +
                count(args, EventKind::kKernel, "ncclKernel"),
            21);

  const RankTrace old = std::move(read("pytorch_kineto", d).runs[0].ranks[0]);
  EXPECT_EQ(old.steps.size(), 6u);
  for (const StepMark& step : old.steps) {
    EXPECT_GT(step.end - step.start, 148 * kMillisecond);
    EXPECT_LT(step.end - step.start, 160 * kMillisecond);
  }

  const RankTrace python =
      std::move(read("AMD-AGI_TraceLens/mi300/resnet_act_checkpoint.json.gz", d).runs[0].ranks[0]);
  EXPECT_EQ(python.facts.python_events, 34405);
  EXPECT_EQ(count(python, EventKind::kKernel, "ncclDevKernel_Generic"), 17);
  EXPECT_EQ(python.devices.at(2), "AMD Instinct MI300X");

  std::size_t syncs[3];
  const char* folders[] = {"simple_add", "cuda_event_sync", "cuda_event_sync_multi_stream"};
  for (int i = 0; i < 3; ++i) {
    syncs[i] = read(hta / "critical_path" / folders[i], d).runs[0].ranks[0].syncs.size();
  }
  EXPECT_EQ(syncs[0], 41u);
  EXPECT_EQ(syncs[1], 4u);
  EXPECT_EQ(syncs[2], 5u);
}

TEST(SharedTraces, MegatronGetsItsSizesFromTheExecutionTraces) {
  NEED_SHARED();
  Diagnostics diagnostics;
  const Recording recording = read("astra-sim_astra-sim/megatron-tp8", diagnostics);
  ASSERT_EQ(recording.runs.size(), 1u);
  const trace::Run& run = recording.runs[0];
  ASSERT_EQ(run.ranks.size(), 8u);
  const double step_ms[] = {603.2, 589.0, 588.8, 604.8, 616.1, 615.9, 625.7, 608.6};
  for (std::size_t r = 0; r < 8; ++r) {
    const RankTrace& trace = run.ranks[r];
    EXPECT_EQ(trace.rank, static_cast<std::int32_t>(r));
    EXPECT_EQ(count(trace, EventKind::kKernel), 690);
    EXPECT_EQ(count(trace, EventKind::kKernel, "AllReduce"), 84);
    ASSERT_EQ(trace.steps.size(), 1u);
    EXPECT_EQ(trace.steps[0].number, 3);
    EXPECT_NEAR(static_cast<double>(trace.steps[0].end - trace.steps[0].start) * 1e-6, step_ms[r],
                0.0501);
    std::int64_t sized = 0;
    for (const CollectiveDetail& c : trace.collectives) {
      if (trace.names.text(c.name) != "allreduce") continue;
      sized += c.in_elements > 0 && c.group_size == 8 && c.dtype != 0 ? 1 : 0;
    }
    // There are only 84 kernels, because the 85th call is in a group of one rank.
    EXPECT_EQ(sized, 84) << "rank " << r;
  }
  EXPECT_EQ(diagnostics.count_of("execution-trace-mismatch"), 0);
}

TEST(SharedTraces, TorchrecFoldersAreSplitIntoTheirRuns) {
  NEED_SHARED();
  const fs::path base = "meta-pytorch_torchrec";
  Diagnostics diagnostics;
  const std::pair<const char*, std::size_t> cases[] = {
      {"sst_long_a2a_optimizer", 1},         {"sst_long_a2a_optimizer_2", 2},
      {"sst_long_a2a_optimizer_4", 1},       {"sst_long_a2a_optimizer_5", 1},
      {"sst_long_a2a_optimizer_5_qcomm", 1},
  };
  for (const auto& [folder, runs] : cases) {
    const Recording recording = read(base / folder, diagnostics);
    ASSERT_EQ(recording.runs.size(), runs) << folder;
    for (const trace::Run& run : recording.runs) {
      EXPECT_EQ(run.ranks.size(), 4u) << folder;
      EXPECT_EQ(run.world, 4) << folder;
      for (const RankTrace& trace : run.ranks) {
        EXPECT_EQ(trace.steps.size(), 3u) << trace.file;
        EXPECT_EQ(trace.host, "ip-172-31-16-248.us-east-2.compute.internal");
      }
    }
  }
  const Recording two = read(base / "sst_long_a2a_optimizer_2", diagnostics);
  EXPECT_EQ(two.runs[0].ranks[0].process, 24049);
  EXPECT_EQ(two.runs[1].ranks[3].process, 26703);
  EXPECT_EQ(two.runs[1].label, "sst_long_a2a_optimizer_2#2");
}

TEST(SharedTraces, OwnRecordingsAreSixJobs) {
  NEED_SHARED();
  Diagnostics diagnostics;
  const Recording recording = read("h200-nccl", diagnostics);
  std::map<std::string, std::size_t> ranks;
  for (const trace::Run& run : recording.runs) ranks[run.label] = run.ranks.size();
  EXPECT_EQ(ranks, (std::map<std::string, std::size_t>{{"resnet50-w4", 4},
                                                       {"vgg16-w2", 2},
                                                       {"fsdp-gpt8l-w4", 4},
                                                       {"tp-gpt8l-w2", 2},
                                                       {"pp-gpt8l-w4", 4},
                                                       {"pp-gpt8l-w2", 2}}));
  EXPECT_EQ(diagnostics.count_of("missing-rank"), 0);
  EXPECT_TRUE(diagnostics.strict());
}

TEST(SharedTraces, ExecutionTracesOfAllSchemasAreRead) {
  NEED_SHARED();
  struct Case {
    const char* path;
    std::size_t nodes;
    std::map<std::string, int> collectives;
  };
  const Case cases[] = {
      {"astra-sim_astra-sim/megatron-tp8/megatron_et_0.json.gz",
       5424,
       {{"allreduce", 85}, {"wait", 85}}},
      {"astra-sim_astra-sim/result/eg.rank_0.pt.trace.json.gz",
       4801,
       {{"allreduce", 5}, {"broadcast", 2}, {"wait", 2}}},
      {"astra-sim_astra-sim/result/eg.rank_1.pt.trace.json.gz",
       4797,
       {{"allreduce", 5}, {"broadcast", 2}, {"wait", 2}}},
      {"facebookresearch_param/1.1.0-chakra.0.0.4/resnet_2gpu_et.json.gz",
       14392,
       {{"allreduce", 15}, {"broadcast", 6}, {"wait", 6}}},
      {"facebookresearch_param/linear_et.json.gz", 931, {}},
      {"sarchlab_triosim/graph_vgg13-iter41.json.gz", 903, {}},
  };
  for (const Case& expected : cases) {
    const auto source = open_file((kShared / expected.path).string());
    ASSERT_TRUE(source);
    Diagnostics diagnostics;
    const auto trace = read_execution_trace(**source, {}, diagnostics);
    ASSERT_TRUE(trace) << expected.path;
    EXPECT_EQ(trace->nodes.size(), expected.nodes) << expected.path;
    std::map<std::string, int> seen;
    for (const CollectiveDetail& c : trace->collectives)
      ++seen[std::string(trace->names.text(c.name))];
    EXPECT_EQ(seen, expected.collectives) << expected.path;
    EXPECT_TRUE(diagnostics.empty()) << expected.path;
  }
}

}  // namespace
}  // namespace weft::trace
