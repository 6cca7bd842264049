// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/error_bar.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"

namespace weft::predict {
namespace {

constexpr Nanos ms = kMillisecond;

StepPrediction with_bar(const NetworkRange& range, const ErrorEvidence& evidence) {
  StepPrediction step;
  step.step = 100 * ms;
  set_error_bar(step, range, evidence);
  return step;
}

TEST(ErrorBar, EveryKindOfEvidenceWidensIt) {
  const NetworkRange exact{100 * ms, 100 * ms, 100 * ms};
  const StepPrediction least = with_bar(exact, {});
  EXPECT_LT(least.low, 100 * ms);
  EXPECT_GT(least.high, 100 * ms);
  EXPECT_LT(with_bar(exact, {.steps = 0.05}).low, least.low);
  EXPECT_LT(with_bar(exact, {.profiler = 0.3}).low, least.low);
  EXPECT_LT(with_bar(exact, {.ranks_missing = true}).low, least.low);
  EXPECT_LT(with_bar(exact, {.baseline = 150 * ms}).low, least.low) << "a large change";
  EXPECT_EQ(with_bar(exact, {.baseline = 100 * ms}).low, least.low);
}

TEST(ErrorBar, TheNetworkWidensEachSideByItself) {
  const NetworkRange exact{100 * ms, 100 * ms, 100 * ms};
  const StepPrediction least = with_bar(exact, {});
  const StepPrediction hidden = with_bar({120 * ms, 100 * ms, 100 * ms}, {});
  EXPECT_EQ(hidden.low, least.low) << "a faster network does not help if transfers are hidden";
  EXPECT_GT(hidden.high, 120 * ms);
  const StepPrediction latency = with_bar({100 * ms, 100 * ms, 130 * ms}, {});
  EXPECT_EQ(latency.low, least.low);
  EXPECT_GT(latency.high, 130 * ms);
}

/// One rank waits for an all-reduce of `bytes` bytes that takes `time` nanoseconds.
graph::Graph job(Bytes bytes, Nanos time) {
  auto graph = graph::parse_text(
      "lane a stream 0\nlane b stream 1\nlane net link -\nx: arrive a 0\ny: arrive b 0\n"
      "t: transfer net " +
      std::to_string(time) + "ns at=0 took=" + std::to_string(time) +
      "ns after x:collective, y:collective\nc: collective allreduce ranks=2 bytes=" +
      std::to_string(bytes) + " transfer=t arrivals=x,y\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

TEST(ErrorBar, TransfersOfUnknownLatencyAreRefusedIfTheyMatter) {
  const cost::LinkModel links({}, job(4'000'000, 2 * ms));
  const graph::Graph small = job(1'000'000, 500'000);
  const TransferRanges ranges = transfer_ranges(small, links);
  ASSERT_EQ(ranges.transfers.size(), 1u);
  EXPECT_GT(ranges.slow[0], 500'000);
  EXPECT_LT(ranges.fast[0], 500'000);
  EXPECT_EQ(ranges.latency[0], 2 * ms);
  EXPECT_FALSE(unknown_latency(small, links, 100 * ms, {0, 0, 110 * ms}));
  const auto refused = unknown_latency(small, links, 100 * ms, {0, 0, 130 * ms});
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->find("weft calibrate"), refused->npos) << *refused;
  EXPECT_NE(refused->find("all_reduce"), refused->npos) << *refused;
}

}  // namespace
}  // namespace weft::predict
