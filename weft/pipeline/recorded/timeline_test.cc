// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "weft/graph/made_pipeline.h"

namespace weft::pipeline::recorded {
namespace {

namespace made = graph::made;

constexpr Nanos ms = kMillisecond;

TimedJob timed(const made::Pipeline& pipeline) {
  Diagnostics diagnostics;
  const auto job = predict::make_job(made::play(pipeline), diagnostics);
  EXPECT_TRUE(job.has_value());
  const auto result = timed_job(*job);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

made::Pipeline four_stages() {
  made::Pipeline pipeline;
  pipeline.replicas = 2;
  pipeline.stages = 4;
  pipeline.micro_batches = 8;
  pipeline.steps = 3;
  return pipeline;
}

/// Makes everything on one worker take `factor` times as long.
void slow_down(made::Pipeline& pipeline, std::int32_t slow, double factor) {
  pipeline.vary = [=](std::string_view name, const trace::RankTrace& rank, std::int32_t,
                      std::int32_t, Nanos usual) {
    const bool slowed = rank.rank == slow && name != "optimizer";
    return static_cast<Nanos>(static_cast<double>(usual) * (slowed ? factor : 1));
  };
}

TEST(TimedJob, HasTheTimesOfWorkersAndMessages) {
  const TimedJob job = timed(four_stages());
  EXPECT_EQ(job.micro_batches, 8);
  ASSERT_EQ(job.workers.size(), 2u);
  EXPECT_EQ(job.workers[1][2].rank, 5);
  EXPECT_EQ(job.workers[1][2].forward, 10 * ms);
  EXPECT_EQ(job.workers[0][3].backward, 20 * ms);
  EXPECT_EQ(job.boundaries[0][0].forward.time, ms);
}

TEST(TimedJob, TheStepIsThatOfTheTimeline) {
  for (const double factor : {1.0, 1.5, 3.0}) {
    made::Pipeline pipeline = four_stages();
    slow_down(pipeline, 2, factor);
    const TimedJob job = timed(pipeline);
    const auto step = static_cast<double>(step_of(job, "1f1b", 8).value());
    EXPECT_NEAR(step / static_cast<double>(job.measured_step), 1, 0.01);
  }
}

TEST(TimedJob, MoreMicroBatchesTakeLonger) {
  const TimedJob job = timed(four_stages());
  EXPECT_GT(step_of(job, "1f1b", 16).value(), step_of(job, "1f1b", 8).value() + 8 * 30 * ms - 1);
  for (const char* other : {"zigzag", "interleaved"}) {
    const auto step = step_of(job, other, 8);
    ASSERT_FALSE(step.has_value()) << other;
    EXPECT_EQ(step.error().code, ErrorCode::kUsage);
  }
}

TEST(Replan, FindsTheSlowWorkerAndMovesWorkAwayFromIt) {
  Diagnostics diagnostics;
  made::Pipeline pipeline = four_stages();
  slow_down(pipeline, 2, 2.0);
  const Replan result = replan(timed(pipeline), 32, diagnostics).value();
  EXPECT_EQ(result.slow_rank, 2);
  EXPECT_EQ(result.slow_replica, 0);
  EXPECT_EQ(result.slow_stage, 1);
  EXPECT_NEAR(result.slowness, 2, 0.01);
  EXPECT_LT(result.step_without_slow_worker, result.predicted_step);
  ASSERT_FALSE(result.ways.empty());
  for (const Way& way : result.ways) {
    EXPECT_LT(way.step, result.predicted_step);
    EXPECT_GE(way.step, result.step_without_slow_worker);
    std::int32_t layers = 0, micro_batches = 0;
    for (const std::int32_t count : way.division.layers) layers += count;
    for (const Micro count : way.division.micro_batches) micro_batches += count;
    EXPECT_EQ(layers, 32);
    EXPECT_EQ(micro_batches, 16);
    EXPECT_TRUE(way.division.layers[1] < 8 || way.division.micro_batches[0] < 8) << way.name;
  }
}

TEST(Replan, TimeThatAStageHasInAllReplicasIsFixed) {
  Diagnostics diagnostics;
  made::Pipeline pipeline = four_stages();
  pipeline.vary = [](std::string_view name, const trace::RankTrace& rank, std::int32_t,
                     std::int32_t, Nanos usual) {
    return rank.stage == 3 && name != "optimizer" ? usual + 10 * ms : usual;
  };
  const Replan result = replan(timed(pipeline), 32, diagnostics).value();
  EXPECT_EQ(result.slow_rank, -1);
  EXPECT_EQ(result.heavy_stage, 3);
  ASSERT_FALSE(result.ways.empty());
  EXPECT_LT(result.ways.front().division.layers[3], 8);
}

TEST(Replan, NothingIsMovedInAnEvenJob) {
  Diagnostics diagnostics;
  const Replan result = replan(timed(four_stages()), 32, diagnostics).value();
  EXPECT_EQ(result.slow_rank, -1);
  EXPECT_EQ(result.heavy_stage, -1);
  for (const Way& way : result.ways) {
    EXPECT_GT(static_cast<double>(way.step), 0.97 * static_cast<double>(result.predicted_step));
  }
}

TEST(Replan, NotesWhatItAssumesAboutLayers) {
  Diagnostics diagnostics;
  const TimedJob job = timed(four_stages());
  EXPECT_EQ(replan(job, 32, diagnostics)->recorded.layers, std::vector<std::int32_t>(4, 8));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(replan(job, 0, diagnostics)->recorded.layers, std::vector<std::int32_t>(4, 8));
  EXPECT_EQ(diagnostics.count_of("replan-layers-assumed"), 1);
}

TEST(Replan, RefusesFewerLayersThanStages) {
  Diagnostics diagnostics;
  EXPECT_FALSE(replan(timed(four_stages()), 3, diagnostics).has_value());
}

TEST(SharedTimelines, StepsOfProductionJobsWithinTwoPercent) {
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) /
                                       "../shared/pipelines/ByteDance-Seed_StragglerAnalysis";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const char* name : {"ST", "AR"}) {
    Diagnostics diagnostics;
    const auto path = (folder / (std::string("timeline-") + name + ".json.gz")).string();
    const auto job = predict::open_job({path}, {}, diagnostics);
    ASSERT_TRUE(job.has_value());
    const Replan result = replan(timed_job(*job).value(), 0, diagnostics).value();
    const double error =
        static_cast<double>(result.predicted_step) / static_cast<double>(result.measured_step) - 1;
    EXPECT_LT(std::abs(error), 0.02) << name;
    EXPECT_EQ(result.slow_rank, name == std::string("AR") ? 0 : -1);
    ASSERT_FALSE(result.ways.empty());
  }
}

}  // namespace
}  // namespace weft::pipeline::recorded
