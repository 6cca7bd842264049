// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/xplane/xplane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "weft/trace/formats/xplane/hlo.h"
#include "weft/trace/launches.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(WEFT_SOURCE_DIR) / "tests" / "data" / "xplane";

// Writes planes in the order of profilers: first the lines, then the names that their events use.
class Plane {
 public:
  explicit Plane(std::string name) : name_(std::move(name)) {}

  Plane& line(std::int64_t id, const std::string& name, std::int64_t timestamp_ns) {
    close_line();
    line_open_ = true;
    protozero::pbf_writer line(line_);
    line.add_int64(1, id);
    line.add_string(2, name);
    line.add_int64(3, timestamp_ns);
    return *this;
  }
  using Stats = std::map<std::string, std::string>;
  Plane& event(const std::string& name, std::int64_t offset_ps, std::int64_t duration_ps,
               const std::map<std::string, std::int64_t>& numbers = {}, const Stats& texts = {}) {
    std::string bytes;
    protozero::pbf_writer event(bytes);
    event.add_int64(1, number_of(event_names_, name));
    event.add_int64(2, offset_ps);
    event.add_int64(3, duration_ps);
    for (const auto& [key, value] : numbers) event.add_message(4, number_stat(key, value));
    for (const auto& [key, value] : texts) event.add_message(4, text_stat(key, value));
    protozero::pbf_writer(line_).add_message(4, bytes);
    return *this;
  }
  Plane& fact(const std::string& key, std::int64_t value) {
    protozero::pbf_writer(facts_).add_message(6, number_stat(key, value));
    return *this;
  }
  std::string bytes(bool with_names = true) {
    close_line();
    std::string out;
    protozero::pbf_writer plane(out);
    plane.add_string(2, name_);
    out += lines_;
    if (!with_names) return out;
    protozero::pbf_writer rest(out);
    add_names(rest, 4, event_names_);
    add_names(rest, 5, stat_names_);
    return out + facts_;
  }

 private:
  using Names = std::map<std::string, std::int64_t>;

  static std::int64_t number_of(Names& names, const std::string& name) {
    return names.try_emplace(name, static_cast<std::int64_t>(names.size()) + 1).first->second;
  }
  std::string number_stat(const std::string& key, std::int64_t value) {
    std::string bytes;
    protozero::pbf_writer stat(bytes);
    stat.add_int64(1, number_of(stat_names_, key));
    stat.add_int64(4, value);
    return bytes;
  }
  // Profilers write a repeated text once, as the name of a stat.
  std::string text_stat(const std::string& key, const std::string& value) {
    std::string bytes;
    protozero::pbf_writer stat(bytes);
    stat.add_int64(1, number_of(stat_names_, key));
    stat.add_int64(7, number_of(stat_names_, value));
    return bytes;
  }
  static void add_names(protozero::pbf_writer& plane, std::uint32_t tag, const Names& names) {
    for (const auto& [name, number] : names) {
      std::string value, entry;
      protozero::pbf_writer(value).add_int64(1, number);
      protozero::pbf_writer(value).add_string(2, name);
      protozero::pbf_writer(entry).add_int64(1, number);
      protozero::pbf_writer(entry).add_message(2, value);
      plane.add_message(tag, entry);
    }
  }
  void close_line() {
    if (line_open_) protozero::pbf_writer(lines_).add_message(3, line_);
    line_.clear();
    line_open_ = false;
  }

  std::string name_, lines_, line_, facts_;
  bool line_open_ = false;
  Names event_names_, stat_names_;
};

std::string space(const std::vector<std::string>& planes, const std::string& host = "host7") {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const std::string& plane : planes) writer.add_message(1, plane);
  writer.add_string(4, host);
  return out;
}

Result<std::vector<RankTrace>> read(std::string_view bytes, Diagnostics& diagnostics,
                                    std::size_t piece = 1u << 20) {
  const auto source = memory_source(bytes, "run/host7.xplane.pb", piece);
  return make_xplane_reader()->read(*source, {}, diagnostics);
}

std::vector<std::string> names_of(const RankTrace& trace, EventKind kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] == kind) names.emplace_back(trace.names.text(trace.events.name[i]));
  }
  return names;
}

const CollectiveDetail* first_collective(const RankTrace& trace) {
  return trace.collectives.empty() ? nullptr : &trace.collectives.front();
}

Plane two_gpu_host() {
  Plane host("/host:CPU");
  host.fact("process_id", 4711);
  host.line(5, "python", 1000)
      .event("train", 0, 9'000'000, {{"step_num", 3}, {"_r", 1}})
      .event("$train.py:7 step", 10, 20)
      .event("cuLaunchKernel", 1'000'000, 2000, {{"correlation_id", 11}})
      .event("cuLaunchKernel", 1'500'000, 2000, {{"correlation_id", 21}});
  host.line(6, "worker", 1000).event("cuLaunchKernel", 2'000'000, 500, {{"correlation_id", 22}});
  return host;
}

TEST(Xplane, OneRankPerDeviceWithItsStreamsAndLaunches) {
  Plane first("/device:GPU:0"), second("/device:GPU:1");
  first.line(13, "Stream #13(Kernel)", 1000)
      .event("gemm", 1'200'999, 3'000'500, {{"correlation_id", 11}},
             {{"kernel_details", "grid:16,1,1 block:512,1,1 occ_pct:0"}});
  second.line(14, "Stream #14(Kernel,MemcpyD2H)", 1000)
      .event("gemm", 1'700'000, 3'000'000, {{"correlation_id", 21}})
      .event("MemcpyD2H", 5'000'000, 1'000'000, {{"correlation_id", 22}},
             {{"memcpy_details", "kind:D2H size:4096 dest:0 async:1"}});
  Diagnostics diagnostics;
  const auto ranks =
      read(space({first.bytes(), second.bytes(), two_gpu_host().bytes()}), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  ASSERT_EQ(ranks->size(), 2u);
  const RankTrace& zero = (*ranks)[0];
  const RankTrace& one = (*ranks)[1];
  EXPECT_EQ(zero.rank, 0);
  EXPECT_EQ(one.rank, 1);
  EXPECT_EQ(zero.host, "host7");
  EXPECT_EQ(zero.process, 4711);
  EXPECT_EQ(zero.facts.python_events, 1);
  EXPECT_EQ(names_of(zero, EventKind::kRuntime).size(), 1u)
      << "calls of the shared thread are split by device";
  EXPECT_EQ(names_of(one, EventKind::kRuntime).size(), 2u);
  EXPECT_EQ(zero.names.text(zero.kernels.at(0).shape), "16,1,1/512,1,1");
  EXPECT_EQ(one.copies.at(0).bytes, 4096);
  for (const RankTrace& rank : *ranks) {
    ASSERT_EQ(rank.steps.size(), 1u) << "every rank has the steps of the process";
    EXPECT_EQ(rank.steps[0].number, 3);
    EXPECT_EQ(rank.lanes[rank.steps[0].lane].name, "python");
  }
}

TEST(Xplane, BothEndsOfAnEventAreRoundedDown) {
  Plane gpu("/device:GPU:0");
  gpu.line(1, "Stream #1", 5).event("a", 1'999, 2'000).event("b", 3'999, 1'001);
  Diagnostics diagnostics;
  const auto ranks = read(space({gpu.bytes()}), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  const Events& events = ranks->front().events;
  EXPECT_EQ(events.end(0), events.start[1]);
  EXPECT_EQ(events.duration[0], 2);
  EXPECT_EQ(events.duration[1], 2);
}

TEST(Xplane, TextsOfTpuInstructionsDescribeCollectives) {
  Plane tpu("/device:TPU:2");
  const std::string op =
      "%all-gather-start.5 = (bf16[8,16]{1,0}, bf16[32,16]{1,0}) all-gather-start(%p), "
      "replica_groups={{0,1},{2,3}}";
  tpu.line(1, "Steps", 0).event("4", 0, 9'000'000, {{"group_id", 4}});
  tpu.line(2, "XLA Ops", 0).event("fusion.1", 0, 1'000'000).event(op, 1'000'000, 1'000);
  tpu.line(3, "Async XLA Ops", 0).event(op, 1'000'000, 5'000'000);
  tpu.line(4, "Framework Ops", 0).event("matmul", 0, 1'000'000);
  Diagnostics diagnostics;
  const auto ranks = read(space({tpu.bytes()}), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  const RankTrace& rank = ranks->front();
  EXPECT_EQ(names_of(rank, EventKind::kKernel).size(), 3u);
  ASSERT_EQ(rank.collectives.size(), 1u) << "the start on the op line transfers nothing";
  const CollectiveDetail& gather = rank.collectives[0];
  EXPECT_EQ(rank.names.text(gather.name), "all-gather");
  EXPECT_EQ(rank.names.text(gather.dtype), "BFloat16");
  EXPECT_EQ(rank.names.text(gather.group), "")
      << "the groups have four devices and the file one, so there are several hosts";
  EXPECT_EQ(gather.group_size, 2);
  EXPECT_EQ(gather.out_elements, 512);
  EXPECT_EQ(gather.in_elements, 256);
  ASSERT_EQ(rank.steps.size(), 1u);
  EXPECT_EQ(rank.steps[0].number, 4);
  EXPECT_EQ(diagnostics.count_of("xplane-derived-line"), 1);
}

TEST(Xplane, InstructionsThatOnlyBeginLikeACollectiveAreNotOne) {
  EXPECT_EQ(xplane::collective_of_instruction("%all-reduce-start.12"), "all-reduce");
  EXPECT_EQ(xplane::collective_of_instruction("all-reduce"), "all-reduce");
  EXPECT_EQ(xplane::collective_of_instruction("all-reduce-done.1"), "all-reduce");
  EXPECT_EQ(xplane::collective_of_instruction("all-reduce_fusion"), "");
  EXPECT_EQ(xplane::collective_of_instruction("fusion.3"), "");
}

TEST(Xplane, ProgramInTheFileGivesSizesAndGroups) {
  // An all-reduce of f32[4,8] and s32[2] among rows of a transposed 2x2 grid.
  std::string array, other, shape, instruction, computation, module, program, iota, list;
  const std::vector<std::int64_t> dims = {4, 8}, few = {2}, grid = {2, 2}, turned = {1, 0};
  protozero::pbf_writer(array).add_uint32(2, 11);
  protozero::pbf_writer(array).add_packed_int64(3, dims.begin(), dims.end());
  protozero::pbf_writer(other).add_uint32(2, 4);
  protozero::pbf_writer(other).add_packed_int64(3, few.begin(), few.end());
  protozero::pbf_writer(shape).add_uint32(2, 13);
  protozero::pbf_writer(shape).add_message(4, array);
  protozero::pbf_writer(shape).add_message(4, other);
  protozero::pbf_writer(iota).add_int64(1, 2);
  protozero::pbf_writer(iota).add_int64(2, 2);
  protozero::pbf_writer(iota).add_packed_int64(3, grid.begin(), grid.end());
  protozero::pbf_writer(iota).add_packed_int64(4, turned.begin(), turned.end());
  protozero::pbf_writer(list).add_message(2, iota);
  protozero::pbf_writer(instruction).add_string(1, "all-reduce-start.2");
  protozero::pbf_writer(instruction).add_message(3, shape);
  protozero::pbf_writer(instruction).add_message(87, list);
  protozero::pbf_writer(computation).add_message(2, instruction);
  protozero::pbf_writer(module).add_message(3, computation);
  protozero::pbf_writer(program).add_message(1, module);
  xplane::HloCollectives collectives;
  collectives.add_program("jit_step(7)", program);
  const xplane::HloCollective* found = collectives.find("jit_step", 7, "all-reduce-start.2");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, collectives.find("jit_step", -1, "all-reduce-start.2"));
  EXPECT_EQ(found->dtype, "Byte") << "the arrays have different types";
  EXPECT_EQ(found->elements, 4 * 8 * 4 + 2 * 4);
  EXPECT_EQ(found->groups, (std::vector<std::vector<std::int64_t>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(collectives.find("jit", 7, "all-reduce-start.2"), nullptr);
}

TEST(Xplane, EveryCutFileGivesATraceOrAnErrorWithTheByte) {
  Plane gpu("/device:GPU:0"), late("/device:GPU:1");
  gpu.line(1, "Stream #1", 5).event("a", 0, 2'000).event("b", 3'000, 1'000);
  late.line(1, "Stream #1", 5).event("a", 0, 2'000);
  const std::string first = space({gpu.bytes()}, "");
  const std::string whole = space({gpu.bytes(), late.bytes()});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    const auto ranks = read(std::string_view(whole).substr(0, size), diagnostics, 3);
    if (!ranks) {
      EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
      EXPECT_FALSE(ranks.error().message.empty());
      EXPECT_GE(ranks.error().byte, 0);
      continue;
    }
    EXPECT_FALSE(ranks->empty());
    // The first plane is complete when its last name is complete.
    if (size > first.size()) {
      EXPECT_EQ(ranks->front().events.size(), 2u) << size;
    }
  }
}

TEST(Xplane, EventsWithoutNamesAreLeftOutAndCounted) {
  Plane gpu("/device:GPU:0"), named("/device:GPU:1");
  gpu.line(1, "Stream #1", 5).event("a", 0, 2'000);
  named.line(1, "Stream #1", 5).event("a", 0, 2'000);
  Diagnostics diagnostics;
  const auto ranks = read(space({gpu.bytes(false), named.bytes()}), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_EQ(ranks->size(), 1u);
  EXPECT_EQ(ranks->front().rank, 1);
  EXPECT_EQ(diagnostics.count_of("xplane-nameless-event"), 1);
}

TEST(Xplane, EventsBeforeDamageAreKept) {
  Plane gpu("/device:GPU:0");
  gpu.line(1, "Stream #1", 5).event("a", 0, 2'000);
  const std::string bytes = space({gpu.bytes()}, "") + std::string("\x0f\xff\xff", 3);
  Diagnostics diagnostics;
  const auto ranks = read(bytes, diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_EQ(diagnostics.count_of("damaged-protobuf"), 1);
  EXPECT_EQ(ranks->front().cut_at, static_cast<std::int64_t>(bytes.size() - 3));
}

TEST(Xplane, JaxOnFourCpuDevicesIsFourRanks) {
  Diagnostics diagnostics;
  const auto recording = load({(kData / "jax-4dev.xplane.pb.gz").string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->runs.size(), 1u);
  const auto& run = recording->runs[0];
  ASSERT_EQ(run.ranks.size(), 4u);
  EXPECT_EQ(run.world, 4);
  for (const RankTrace& rank : run.ranks) {
    EXPECT_EQ(rank.steps.size(), 3u);
    ASSERT_EQ(rank.collectives.size(), 3u) << "one all-reduce of all gradients per step";
    const CollectiveDetail* reduce = first_collective(rank);
    EXPECT_EQ(rank.names.text(reduce->name), "all-reduce");
    EXPECT_EQ(rank.names.text(reduce->dtype), "Float");
    EXPECT_EQ(reduce->in_elements, 64 * 128 + 128 * 32);
    EXPECT_EQ(reduce->group_size, 4);
    EXPECT_GT(rank.epoch, 1'700'000'000 * kSecond);
  }
  EXPECT_TRUE(diagnostics.empty());
}

TEST(Xplane, HostsOfOneProfileAreOneRunWithConsecutiveRanks) {
  const fs::path folder = fs::path(testing::TempDir()) / "weft-xplane-hosts";
  fs::create_directories(folder);
  for (const std::string host : {"beta", "alpha"}) {
    Plane first("/device:GPU:0"), second("/device:GPU:1"), task("Task Environment");
    first.line(1, "Stream #1", 5).event("on " + host + " 0", 0, 2'000);
    second.line(1, "Stream #1", 5).event("on " + host + " 1", 0, 2'000);
    task.fact("profile_start_time", 1'800'000'000 * kSecond);
    const std::string bytes = space({first.bytes(), second.bytes(), task.bytes()}, host);
    ASSERT_TRUE(write_file((folder / (host + ".xplane.pb")).string(), bytes));
  }
  Diagnostics diagnostics;
  const auto recording = load({folder.string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->runs.size(), 1u);
  const auto& ranks = recording->runs[0].ranks;
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks[0].names.text(ranks[0].events.name[0]), "on alpha 0");
  EXPECT_EQ(ranks[3].names.text(ranks[3].events.name[0]), "on beta 1");
  EXPECT_EQ(ranks[3].rank, 3);
  EXPECT_EQ(diagnostics.count_of("host-order-assumed"), 2);
  fs::remove_all(folder);
}

TEST(Xplane, TensorFlowOnTheHostIsOneRankWithItsSteps) {
  Diagnostics diagnostics;
  const auto recording = load({(kData / "tensorflow-cpu.xplane.pb.gz").string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  const RankTrace& rank = recording->runs[0].ranks.at(0);
  EXPECT_EQ(rank.steps.size(), 3u);
  const auto ops = names_of(rank, EventKind::kHostOp);
  EXPECT_TRUE(std::any_of(ops.begin(), ops.end(), [](const std::string& op) {
    return op.find("MatMul") != op.npos;
  })) << "framework ops are distinguished from other ranges";
}

TEST(Xplane, TensorFlowCollectivesOnHostThreadsEndAtTheirDoneEvent) {
  Plane host("/host:CPU");
  host.line(7, "collective_ops/1", 0)
      .event("CollectiveExecutor::CompleteParams", 1'000, 2'000,
             {{"group_key", 1}, {"group_size", 2}})
      .event("sgd/CollectiveReduceV2:CollectiveReduceV2", 10'000'000, 60'000'000,
             {{"group_key", 1}, {"instance_key", 148}})
      .event("MemoryAllocation", 11'000'000, 0, {{"requested_bytes", 400}},
             {{"tf_op", "CollectiveAdapterImpl::TempChunk"}})
      .event("MemoryAllocation", 12'000'000, 0, {{"requested_bytes", 77}}, {{"tf_op", "Add"}})
      .event("CollectiveExecutor::ExecuteAsync::Done", 50'000'000, 20'000'000);
  Diagnostics diagnostics;
  const auto traces = read(space({host.bytes()}), diagnostics);
  ASSERT_TRUE(traces) << traces.error().text();
  const RankTrace& rank = traces->at(0);
  const auto calls = communication_calls(rank, resolve_launches(rank));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(calls[0].sequence, 148);
  EXPECT_EQ(calls[0].group_size, 2);
  EXPECT_EQ(calls[0].bytes, 800) << "one of two parts is received into a buffer";
  EXPECT_EQ(rank.events.duration[calls[0].event], 40'000);
}

TEST(Xplane, ReceiveLastsFromItsStartEventToItsDoneEvent) {
  const std::map<std::string, std::string> node = {{"name", "mul/_4"}, {"kernel_type", "_Recv"}};
  Plane plane("/host:CPU");
  plane.line(1, "asks", 1'000)
      .event("ExecutorState::Process", 1'000'000, 80'000'000, {{"id", 99}})
      .event("ExecutorState::ProcessAsync::Start", 2'000'000, 1'000'000, {{"step_id", 99}}, node)
      .event("mul/_3:_Send", 5'000'000, 1'000'000)
      .event("EagerService:Enqueue", 0, 90'000'000);
  plane.line(2, "has it", 1'000)
      .event("ThreadpoolListener::StartRegion", 40'000'000, 0)
      .event("MemoryAllocation", 41'000'000, 0, {{"requested_bytes", 4096}})
      .event("ExecutorState::ProcessAsync::Done", 42'000'000, 7'000'000, {{"step_id", 99}}, node);
  Diagnostics diagnostics;
  const auto traces = read(space({plane.bytes()}), diagnostics);
  ASSERT_TRUE(traces) << traces.error().text();
  const RankTrace& rank = traces->at(0);
  const Events& e = rank.events;
  std::int64_t receives = 0, ops = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    ops += e.kind[i] == EventKind::kHostOp;
    const std::string_view name = rank.names.text(e.name[i]);
    if (name == "mul/_3:_Send") {
      EXPECT_EQ(e.external_id[i], 99);
    }
    if (name != "mul/_4:_Recv") continue;
    ++receives;
    EXPECT_EQ(e.start[i], 2'000);
    EXPECT_EQ(e.duration[i], 40'000);
    EXPECT_EQ(e.external_id[i], 99);
    EXPECT_EQ(rank.host_ops.at(e.detail[i]).input_bytes, 4096);
  }
  EXPECT_EQ(receives, 1);
  EXPECT_EQ(ops, 1) << "a service call is not an op";
}

TEST(Xplane, SharedGpuProfileGivesEightRanksWithLaunches) {
  const fs::path file = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "traces" /
                        "AMD-AGI_TraceLens" / "mi300" / "jax_conv_minimal_08" / "tw003.xplane.pb";
  if (!fs::exists(file)) GTEST_SKIP() << "the shared recordings are not next to this checkout";
  Diagnostics diagnostics;
  const auto recording = load({file.string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  const auto& run = recording->runs.at(0);
  ASSERT_EQ(run.ranks.size(), 8u);
  for (const RankTrace& rank : run.ranks) {
    const std::size_t kernels = names_of(rank, EventKind::kKernel).size();
    EXPECT_EQ(kernels, rank.rank == 0 ? 60u : 25u);
    const Launches launches = resolve_launches(rank);
    for (std::size_t i = 0; i < rank.events.size(); ++i) {
      if (rank.events.kind[i] != EventKind::kKernel) continue;
      EXPECT_NE(launches.launcher[i], kNone) << rank.rank;
    }
    EXPECT_EQ(rank.host, "tw003");
  }
}

}  // namespace
}  // namespace weft::trace
