// SPDX-License-Identifier: Apache-2.0
// Tests predict() with synthetic jobs whose step time is known. The tests make the events of a job.
// Then they do everything that is necessary to get a prediction from these events.
#include "weft/predict/predict.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::predict {
namespace {

constexpr Nanos us = kMicrosecond, ms = kMillisecond;
constexpr Bytes kBytes = 20'000'000;

struct Shape {
  int ranks = 2;
  int kernels = 4;
  std::vector<Nanos> kernel = {1 * ms, 1 * ms};  ///< kernel[rank]: duration of each kernel
  Nanos between_calls = 20 * us;                 ///< host time from one launch to the next
  Nanos transfer = 0;  ///< time of the step's all-reduce; 0: no all-reduce
  Nanos optimiser = 1 * ms;
  int steps = 3;
};

/// Makes the recording of such a job. Each step runs the kernels, then the all-reduce, then an
/// optimiser that waits for it.
class Recorder {
 public:
  explicit Recorder(const Shape& shape) : shape_(shape) {
    for (int r = 0; r < shape.ranks; ++r) ranks_.push_back({trace::MadeRank(r, shape.ranks)});
    for (int s = 0; s < shape.steps; ++s) step(s);
    for (Rank& rank : ranks_) run_.ranks.push_back(std::move(rank.made.trace));
    run_.world = shape.ranks;
  }

  Job job() {
    Diagnostics diagnostics;
    auto job = make_job(run_, diagnostics);
    EXPECT_TRUE(job) << job.error().text();
    return std::move(job).value();
  }

 private:
  struct Rank {
    trace::MadeRank made;
    Nanos host = 0, device = 0;
    std::uint32_t correlation = 0;
  };

  void launch(std::size_t r, const char* name, Nanos duration, Nanos not_before = 0) {
    Rank& rank = ranks_[r];
    rank.made.runtime(rank.host, 5 * us, ++rank.correlation);
    const Nanos start = std::max({rank.host + 5 * us, rank.device, not_before});
    rank.made.kernel(name, start + duration, duration, rank.correlation, 7);
    rank.device = start + duration;
    rank.host += shape_.between_calls;
  }

  void wait_call(Rank& rank) {
    rank.made.add(trace::EventKind::kRuntime, "cudaStreamWaitEvent", rank.host, 2 * us,
                  ++rank.correlation);
    rank.host += 4 * us;
  }

  void step(int number) {
    std::vector<Nanos> begin;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      begin.push_back(ranks_[r].host);
      for (int k = 0; k < shape_.kernels; ++k) launch(r, "gemm", shape_.kernel[r]);
    }
    Nanos over = 0;
    if (shape_.transfer > 0) over = all_reduce();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      launch(r, "optimiser", shape_.optimiser, over);
      ranks_[r].made.trace.steps.push_back({number, 0, begin[r], ranks_[r].host});
    }
  }

  Nanos all_reduce() {
    std::vector<Nanos> calls, arrivals;
    Nanos last = 0;
    for (Rank& rank : ranks_) {
      wait_call(rank);
      rank.made.runtime(rank.host, 5 * us, ++rank.correlation);
      arrivals.push_back(std::max(rank.host + 5 * us, rank.device));
      last = std::max(last, arrivals.back());
      rank.host += shape_.between_calls;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Nanos end = last + shape_.transfer;
      const std::uint32_t event = ranks_[r].made.kernel(
          trace::kAllReduceKernel, end, end - arrivals[r], ranks_[r].correlation, 20);
      ranks_[r].made.describe(event, "allreduce", kBytes / 4);
      wait_call(ranks_[r]);
    }
    return last + shape_.transfer;
  }

  Shape shape_;
  std::vector<Rank> ranks_;
  trace::Run run_;
};

Shape device_bound() { return {.ranks = 1, .kernels = 9, .kernel = {1 * ms}}; }
Shape host_bound() {
  return {
      .ranks = 1, .kernels = 9, .kernel = {10 * us}, .between_calls = 1 * ms, .optimiser = 10 * us};
}
Shape communication_bound() { return {.transfer = 20 * ms}; }

/// A link table with 1 ms of latency and 20 ms for the all-reduce of the job.
cost::LinkTable table() {
  cost::LinkTable table;
  table.ranks = 2;
  table.rows = {{1'000, 1 * ms}, {kBytes, 20 * ms}};
  return table;
}

Result<Prediction> ask(const Shape& shape, const std::vector<std::string>& what_ifs,
                       bool keep_profiler = false, bool with_table = true) {
  const Job job = Recorder(shape).job();
  PredictOptions options;
  options.keep_profiler = keep_profiler;
  if (with_table) options.links = {table()};
  for (const std::string& text : what_ifs) {
    options.what_ifs.push_back(parse_what_if(text).value());
  }
  return predict(job, options);
}

Nanos step(const Shape& shape, const std::vector<std::string>& what_ifs = {}) {
  const auto prediction = ask(shape, what_ifs);
  EXPECT_TRUE(prediction) << prediction.error().text();
  return prediction.value().predicted.step;
}

std::string refusal(const Shape& shape, const std::string& what_if) {
  const auto prediction = ask(shape, {what_if});
  if (prediction) return "no error";
  EXPECT_EQ(prediction.error().code, ErrorCode::kUsage);
  return prediction.error().message;
}

TEST(Predict, RecordedStepsAreReplayedExactly) {
  for (const Shape& shape : {device_bound(), host_bound(), communication_bound()}) {
    const SelfReplay replay = self_replay(Recorder(shape).job());
    EXPECT_EQ(replay.worst_error, 0);
    EXPECT_EQ(replay.recorded.steps.size(), 3u);
  }
}

TEST(Predict, DeviceBoundStepIsTheSumOfItsKernels) {
  EXPECT_EQ(step(device_bound()), 10 * ms);
  EXPECT_EQ(step(device_bound(), {"compute=2x"}), 5 * ms);
  EXPECT_EQ(step(device_bound(), {"compute=0.5x"}), 20 * ms);
}

TEST(Predict, HostBoundStepIsTheTimeOfTheHost) {
  const auto prediction = ask(host_bound(), {"compute=2x"}, true);
  ASSERT_TRUE(prediction) << prediction.error().text();
  EXPECT_EQ(prediction->baseline.step, 10 * ms);
  EXPECT_EQ(prediction->predicted.step, 10 * ms);
}

TEST(Predict, WithoutProfilerTheHostIsFaster) {
  const auto with = ask(host_bound(), {}, true), without = ask(host_bound(), {}, false);
  ASSERT_TRUE(with && without);
  EXPECT_LT(without->baseline.step, with->baseline.step);
  // There are only ten events, so their cost is small.
  EXPECT_GT(without->baseline.step, with->baseline.step * 9 / 10);
  EXPECT_GT(without->overhead_per_event, 0);
}

TEST(Predict, CommunicationBoundStepIsComputeTransferOptimiser) {
  EXPECT_EQ(step(communication_bound()), (4 + 20 + 1) * ms);
}

TEST(Predict, BandwidthDividesTransfersWithoutTheirLatency) {
  EXPECT_EQ(step(communication_bound(), {"network.bandwidth=2x"}), 5 * ms + 10'500 * us);
  EXPECT_EQ(step(communication_bound(), {"network.bandwidth=0.5x"}), 5 * ms + 39 * ms);
}

TEST(Predict, LatencyFactorScalesOnlyTheLatency) {
  EXPECT_EQ(step(communication_bound(), {"network.latency=0.5x"}), 5 * ms + 19'500 * us);
  EXPECT_EQ(step(communication_bound(), {"network.latency=3x"}), 5 * ms + 22 * ms);
}

TEST(Predict, WithoutCommunicationOnlyComputeIsLeft) {
  EXPECT_EQ(step(communication_bound(), {"comm=off"}), 5 * ms);
}

TEST(Predict, OneSlowRankSlowsAllRanks) {
  // The four kernels and the optimiser of rank 1 take twice as long, and the other rank waits for
  // rank 1.
  EXPECT_EQ(step(communication_bound(), {"rank:1.compute=0.5x"}), (8 + 20 + 2) * ms);
  EXPECT_EQ(step(communication_bound(), {"rank:1.compute=2x"}), (4 + 20 + 1) * ms);
}

TEST(Predict, WithoutStragglersEveryRankIsAverage) {
  Shape uneven = communication_bound();
  uneven.kernel = {1 * ms, 2 * ms};
  EXPECT_EQ(step(uneven), (8 + 20 + 1) * ms);
  EXPECT_EQ(step(uneven, {"stragglers=off"}), (6 + 20 + 1) * ms);
}

TEST(Predict, WhatIfsApplyTogether) {
  EXPECT_EQ(step(communication_bound(), {"compute=2x", "network.bandwidth=2x"}),
            2'500 * us + 10'500 * us);
  EXPECT_EQ(step(communication_bound(), {"network.bandwidth=2x", "network.latency=0.5x"}),
            5 * ms + 10 * ms);
  EXPECT_EQ(step(communication_bound(), {"comm=off", "compute=2x"}), 2'500 * us);
}

TEST(Predict, ATableOfAFasterNetworkIsRescaled) {
  Shape slow = communication_bound();
  slow.transfer = 50 * ms;
  EXPECT_NEAR(static_cast<double>(step(slow)), (4 + 50 + 1) * ms, 1 * ms);
  const auto recorded = ask(slow, {}, false, false);
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_EQ(recorded->baseline.step, (4 + 50 + 1) * ms);
}

TEST(Predict, ErrorBarContainsTheStepAndIsWiderWithoutATable) {
  const auto with = ask(communication_bound(), {"network.bandwidth=2x"}, false, true);
  const auto without = ask(communication_bound(), {"network.bandwidth=2x"}, false, false);
  ASSERT_TRUE(with && without);
  EXPECT_LT(with->predicted.low, with->predicted.step);
  EXPECT_GT(with->predicted.high, with->predicted.step);
  const auto width = [](const StepPrediction& p) {
    return static_cast<double>(p.high - p.low) / static_cast<double>(p.step);
  };
  EXPECT_GT(width(without->predicted), 1.2 * width(with->predicted));
}

TEST(Predict, ATableThatFitsNoTransferDoesNotNarrowTheErrorBar) {
  const Job job = Recorder(communication_bound()).job();
  PredictOptions with_other_world;
  with_other_world.links = {table()};
  with_other_world.links[0].ranks = 8;
  const auto unused = Predictor::make(job, with_other_world);
  const auto none = Predictor::make(job, {});
  ASSERT_TRUE(unused && none);
  EXPECT_FALSE(unused->uses_tables());
  EXPECT_EQ(unused->baseline()->low, none->baseline()->low);
  EXPECT_EQ(unused->baseline()->high, none->baseline()->high);
}

TEST(Predict, ErrorBarGrowsWithTheDistanceToTheMeasuredNumberOfWorkers) {
  double before = 0;
  for (const std::string workers : {"2", "4", "8", "16", "32"}) {
    // The table of two ranks has latency, which the recording does not show. So the two predictions
    // differ, but their error bars must overlap.
    const auto with = ask(communication_bound(), {"workers=" + workers});
    const auto without = ask(communication_bound(), {"workers=" + workers}, false, false);
    ASSERT_TRUE(with && without) << workers;
    const StepPrediction& a = with->predicted;
    const StepPrediction& b = without->predicted;
    EXPECT_LT(std::max(a.low, b.low), std::min(a.high, b.high)) << workers;
    const double width = static_cast<double>(a.high - a.low) / static_cast<double>(a.step);
    EXPECT_GT(width, before) << workers;
    before = width;
    EXPECT_EQ(a.extrapolated_from, workers == "2" ? 0 : 2);
  }
  // A table for the new number of ranks ends the extrapolation.
  PredictOptions options;
  options.links = {table(), table()};
  options.links[1].ranks = 32;
  options.what_ifs = {parse_what_if("workers=32").value()};
  const auto measured = predict(Recorder(communication_bound()).job(), options);
  ASSERT_TRUE(measured) << measured.error().text();
  EXPECT_EQ(measured->predicted.extrapolated_from, 0);
  const StepPrediction& answer = measured->predicted;
  EXPECT_LT(static_cast<double>(answer.high - answer.low),
            before * static_cast<double>(answer.step))
      << "a measured number of ranks is surer than an extrapolated one";
}

TEST(Predict, TooManyWorkersAreRefusedWithWhatToMeasure) {
  const std::string message = refusal(communication_bound(), "workers=1000000");
  EXPECT_NE(message.find("measured with 2 ranks"), std::string::npos) << message;
  EXPECT_NE(message.find("at least 62500 ranks"), std::string::npos) << message;
  EXPECT_NE(message.find("can answer: network.bandwidth"), std::string::npos) << message;
}

TEST(Predict, LatencyIsRefusedIfAllTransfersHaveOneSize) {
  EXPECT_FALSE(ask(communication_bound(), {"network.latency=2x"}, false, false));
  EXPECT_TRUE(ask(communication_bound(), {"network.latency=2x"}, false, true));
}

TEST(Predict, ReportsEveryRank) {
  const auto prediction = ask(communication_bound(), {});
  ASSERT_TRUE(prediction) << prediction.error().text();
  EXPECT_EQ(prediction->baseline.ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(prediction->baseline.rank_step, (std::vector<Nanos>{25 * ms, 25 * ms}));
  EXPECT_EQ(prediction->baseline.breakdown.total(), prediction->baseline.step);
  EXPECT_EQ(prediction->baseline.breakdown.compute, 5 * ms);
  EXPECT_EQ(prediction->baseline.breakdown.communication, 20 * ms);
}

TEST(Predict, UsesOnlyTheChosenSteps) {
  const Job job = Recorder(device_bound()).job();
  PredictOptions options;
  options.steps = {1};
  const auto prediction = predict(job, options);
  ASSERT_TRUE(prediction) << prediction.error().text();
  EXPECT_EQ(prediction->baseline.step, 10 * ms);
  options.steps = {1, 99};
  const auto unknown = predict(job, options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().message.find("99"), std::string::npos);
}

TEST(Predict, RefusalsListTheWhatIfsThatCanBeAnswered) {
  for (const char* what_if : {"network.bandwidth=2x", "network.latency=2x", "comm=off",
                              "stragglers=off", "ddp.bucket_mb=5", "rank:7.compute=2x"}) {
    const std::string message = refusal(device_bound(), what_if);
    EXPECT_NE(message.find("can answer: compute, rank:N.compute"), std::string::npos) << message;
  }
  const std::string message = refusal(communication_bound(), "ddp.bucket_mb=5");
  EXPECT_NE(message.find("network.bandwidth"), std::string::npos) << message;
}

TEST(Predict, RecordingWithoutWorkCannotBePredicted) {
  Job job;
  const auto prediction = predict(job, {});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::predict
