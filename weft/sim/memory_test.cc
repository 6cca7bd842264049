// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "weft/trace/runs/load.h"

namespace weft::sim {
namespace {

using trace::EventKind;
using trace::RankTrace;

/// One rank with two host threads (lanes 0 and 1) and a stream of device 3 (lane 2).
class Trace {
 public:
  Trace() {
    trace_.lanes.resize(3);
    trace_.lanes[2].on_device = true;
    trace_.lanes[2].device = 3;
  }
  Trace& memory(Nanos time, Bytes bytes, Bytes total = -1, std::int32_t device = 0,
                std::uint32_t lane = 0) {
    trace::MemoryDetail detail;
    detail.bytes = bytes;
    detail.total_allocated = total;
    detail.device = device;
    trace_.memory.push_back(detail);
    return add(EventKind::kMemory, "[memory]", lane, time, 0, trace_.memory.size() - 1);
  }
  Trace& host_op(std::string_view name, Nanos start, Nanos end, std::uint32_t lane = 0) {
    return add(EventKind::kHostOp, name, lane, start, end, trace::kNone);
  }
  Trace& forward(std::string_view name, Nanos start, Nanos end, std::int64_t sequence,
                 Bytes input_bytes) {
    trace::HostOpDetail detail;
    detail.sequence = sequence;
    detail.input_bytes = input_bytes;
    trace_.host_ops.push_back(detail);
    return add(EventKind::kHostOp, name, 0, start, end, trace_.host_ops.size() - 1);
  }
  Trace& backward(std::string_view name, Nanos start, Nanos end, std::int64_t sequence) {
    trace::HostOpDetail detail;
    detail.sequence = sequence;
    detail.fwd_thread = 1;
    trace_.host_ops.push_back(detail);
    return add(EventKind::kHostOp, name, 1, start, end, trace_.host_ops.size() - 1);
  }
  Trace& kernel() { return add(EventKind::kKernel, "gemm", 2, 0, 1, trace::kNone); }
  Trace& step(std::int64_t number, Nanos start, Nanos end) {
    trace_.steps.push_back({number, 0, start, end});
    return *this;
  }
  std::vector<MemoryCurve> curves() const { return memory_over_time(trace_); }

 private:
  Trace& add(EventKind kind, std::string_view name, std::uint32_t lane, Nanos start, Nanos end,
             std::size_t detail) {
    trace::Events& events = trace_.events;
    events.start.push_back(start);
    events.duration.push_back(end > start ? end - start : 0);
    events.name.push_back(trace_.names.intern(name));
    events.lane.push_back(lane);
    events.correlation.push_back(0);
    events.detail.push_back(static_cast<std::uint32_t>(detail));
    events.external_id.push_back(-1);
    events.kind.push_back(kind);
    return *this;
  }
  RankTrace trace_;
};

std::vector<Bytes> levels(const MemoryCurve& curve) {
  std::vector<Bytes> all;
  for (const MemoryPoint& point : curve.points) all.push_back(point.allocated);
  return all;
}

TEST(Memory, ATraceWithoutEventsHasNoCurve) { EXPECT_TRUE(Trace().curves().empty()); }

TEST(Memory, UsesTheAllocatorsTotals) {
  const auto curves = Trace().memory(10, 5, 105).memory(20, 7, 112).memory(30, -5, 107).curves();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].source, MemorySource::kAllocator);
  EXPECT_EQ(levels(curves[0]), (std::vector<Bytes>{105, 112, 107}));
  EXPECT_EQ(curves[0].peak.bytes, 112);
  EXPECT_EQ(curves[0].peak.time, 20);
}

TEST(Memory, AddsUpAllocationsIfTotalsAreMissing) {
  // The first total is 50 after a free of 10, so it was 60 before that, and 57 before the last +3.
  const auto curves = Trace().memory(1, 3).memory(2, 3).memory(3, -10, 50).memory(4, 1).curves();
  EXPECT_EQ(levels(curves[0]), (std::vector<Bytes>{57, 60, 50, 51}));
}

TEST(Memory, FreesWithoutTotalsShowWhatWasHeldBefore) {
  const auto curves = Trace().memory(1, 10).memory(2, -30).memory(3, 5).curves();
  EXPECT_EQ(curves[0].source, MemorySource::kAllocationsOnly);
  EXPECT_EQ(levels(curves[0]), (std::vector<Bytes>{30, 0, 5}));
}

TEST(Memory, EventsAreSortedByTimeAndSplitByDevice) {
  const auto curves =
      Trace().memory(30, -1, 9).memory(10, 10, 10).memory(20, 4, 4, 1).memory(5, 1, 1, -1).curves();
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].device, -1);
  EXPECT_EQ(curves[1].device, 0);
  EXPECT_EQ(levels(curves[1]), (std::vector<Bytes>{10, 9}));
  EXPECT_EQ(curves[2].device, 1);
}

TEST(Memory, PeakTellsItsStepAndTheInnermostHostOp) {
  const auto curves = Trace()
                          .step(4, 0, 100)
                          .step(5, 100, 200)
                          .host_op("aten::linear", 140, 170)
                          .host_op("aten::addmm", 145, 160)
                          .host_op("aten::relu", 161, 165)
                          .host_op("other thread", 149, 151, 1)
                          .memory(50, 1, 1)
                          .memory(150, 9, 10)
                          .memory(160, -9, 1)
                          .curves();
  EXPECT_EQ(curves[0].peak.step, 5);
  EXPECT_EQ(curves[0].peak.host_op, "aten::addmm");
}

TEST(Memory, PeakMayLieOutsideStepsAndOps) {
  const auto curves = Trace().step(4, 0, 100).memory(150, 9, 10).curves();
  EXPECT_EQ(curves[0].peak.step, -1);
  EXPECT_EQ(curves[0].peak.host_op, "");
}

TEST(Memory, IsEstimatedFromInputsKeptForTheBackwardPass) {
  const auto curves =
      Trace()
          .kernel()
          .step(7, 0, 100)
          .forward("aten::linear", 0, 9, 1, 130)
          .forward("aten::t", 1, 2, 1, 30)       // created node 1: a view, keeps nothing
          .forward("aten::addmm", 3, 9, 2, 100)  // created node 2
          .forward("aten::relu", 10, 12, 3, 50)  // keeps its result, not its input
          .forward("aten::conv2d", 13, 19, 4, 40)
          .forward("aten::addmm", 20, 22, 5, 1000)  // has no backward op
          .backward("ConvolutionBackward0", 30, 40, 4)
          .backward("ReluBackward0", 41, 42, 3)
          .backward("autograd::engine::evaluate_function: AddmmBackward0", 43, 50, 2)
          .backward("AddmmBackward0", 44, 49, 2)
          .backward("TBackward0", 51, 52, 1)
          .curves();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].source, MemorySource::kEstimatedFromShapes);
  EXPECT_EQ(curves[0].device, 3);
  EXPECT_EQ(levels(curves[0]), (std::vector<Bytes>{100, 140, 100, 0}));
  EXPECT_EQ(curves[0].points.back().time, 50);
  EXPECT_EQ(curves[0].peak.bytes, 140);
  EXPECT_EQ(curves[0].peak.time, 13);
  EXPECT_EQ(curves[0].peak.step, 7);
  EXPECT_EQ(curves[0].peak.host_op, "aten::conv2d");
}

/// Returns the ranks of one shared recording, or an empty list if the folder with the shared
/// recordings is not beside this checkout.
std::vector<RankTrace> recorded(const std::string& path) {
  const std::string file = std::string(WEFT_SOURCE_DIR) + "/../shared/traces/" + path;
  if (!std::filesystem::exists(file)) return {};
  Diagnostics diagnostics;
  auto recording = trace::load({file}, {}, diagnostics);
  EXPECT_TRUE(recording) << recording.error().text();
  if (!recording) return {};
  return std::move(recording->runs.at(0).ranks);
}

const MemoryCurve& of_device(const std::vector<MemoryCurve>& curves, std::int32_t device) {
  for (const MemoryCurve& curve : curves) {
    if (curve.device == device) return curve;
  }
  throw std::runtime_error("no curve of device " + std::to_string(device));
}

TEST(Memory, FindsThePeakOfARecordedStep) {
  auto ranks = recorded("sarchlab_triosim/profiler_vgg13-iter41.json.gz");
  if (ranks.empty()) GTEST_SKIP() << "needs ../shared/traces/sarchlab_triosim";
  const auto curves = memory_over_time(ranks[0]);
  const MemoryCurve& device = of_device(curves, 0);
  EXPECT_EQ(device.points.size(), 360u);
  EXPECT_EQ(device.peak.bytes, 39'343'881'216);
  EXPECT_EQ(device.peak.host_op, "aten::convolution_backward");
  EXPECT_EQ(of_device(curves, -1).peak.host_op, "aten::empty_strided");

  // Hide the allocator's events: the estimate must be below the truth, but above half of it.
  for (EventKind& kind : ranks[0].events.kind) {
    if (kind == EventKind::kMemory) kind = EventKind::kOverhead;
  }
  const auto estimated = memory_over_time(ranks[0]);
  ASSERT_EQ(estimated.size(), 1u);
  EXPECT_EQ(estimated[0].source, MemorySource::kEstimatedFromShapes);
  EXPECT_LT(estimated[0].peak.bytes, device.peak.bytes);
  EXPECT_GT(estimated[0].peak.bytes, device.peak.bytes / 2);
}

TEST(Memory, FindsStepAndOpOfThePeakAmongManySteps) {
  const auto ranks = recorded(
      "facebookresearch_HolisticTraceAnalysis/df_index_resolver/df_index_resolver.json.gz");
  if (ranks.empty()) GTEST_SKIP() << "needs ../shared/traces/facebookresearch_Holistic...";
  const auto curves = memory_over_time(ranks[0]);
  const MemoryPeak& peak = of_device(curves, 1).peak;
  EXPECT_EQ(peak.bytes, 6'629'508'096);
  EXPECT_EQ(peak.step, 2);
  EXPECT_EQ(peak.host_op, "aten::empty");
}

}  // namespace
}  // namespace weft::sim
