// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/job.h"

#include <gtest/gtest.h>

namespace weft::predict {
namespace {

/// A rank that launches `kernels` kernels in one marked step.
trace::RankTrace made_rank(std::int32_t rank, std::uint32_t kernels) {
  trace::RankTrace trace;
  trace.rank = rank;
  trace.world = 2;
  trace.file = "r" + std::to_string(rank) + ".json";
  trace.facts.device_events = true;
  trace.lanes.resize(2);
  trace.lanes[1].on_device = true;
  trace.steps.push_back({3, 0, 0, (kernels + 1) * kMillisecond});
  const auto add = [&](trace::EventKind kind, std::uint32_t lane, Nanos start,
                       std::uint32_t correlation) {
    trace::Events& e = trace.events;
    e.start.push_back(start);
    e.duration.push_back(10 * kMicrosecond);
    e.name.push_back(trace.names.intern(lane == 0 ? "cudaLaunchKernel" : "gemm"));
    e.lane.push_back(lane);
    e.correlation.push_back(correlation);
    e.detail.push_back(trace::kNone);
    e.external_id.push_back(-1);
    e.kind.push_back(kind);
  };
  for (std::uint32_t i = 1; i <= kernels; ++i) {
    add(trace::EventKind::kRuntime, 0, i * kMillisecond, i);
    add(trace::EventKind::kKernel, 1, i * kMillisecond + 20 * kMicrosecond, i);
  }
  return trace;
}

trace::Run made_run(std::uint32_t kernels0, std::uint32_t kernels1) {
  trace::Run run;
  run.world = 2;
  run.ranks.push_back(made_rank(0, kernels0));
  run.ranks.push_back(made_rank(1, kernels1));
  return run;
}

TEST(Job, RefusesARankOfWhichMuchIsMissing) {
  trace::Run run = made_run(40, 100);
  run.ranks[0].cut_at = 12345;
  Diagnostics diagnostics;
  const auto job = make_job(std::move(run), diagnostics);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(job.error().file, "r0.json");
  EXPECT_EQ(job.error().byte, 12345);
}

TEST(Job, KeepsARankOfWhichLittleIsMissing) {
  trace::Run run = made_run(99, 100);
  run.ranks[0].cut_at = 12345;
  Diagnostics diagnostics;
  EXPECT_TRUE(make_job(std::move(run), diagnostics));
}

TEST(Job, KeepsACompleteRankWithFewerEvents) {
  Diagnostics diagnostics;
  EXPECT_TRUE(make_job(made_run(40, 100), diagnostics));
}

TEST(Job, RefusesARankWithoutStepsIfOthersHaveSteps) {
  trace::Run run = made_run(100, 100);
  run.ranks[1].steps.clear();
  Diagnostics diagnostics;
  const auto job = make_job(std::move(run), diagnostics);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().file, "r1.json");
}

}  // namespace
}  // namespace weft::predict
