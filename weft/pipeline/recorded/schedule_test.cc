// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/schedule.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weft/graph/made_pipeline.h"
#include "weft/pipeline/recorded/predict.h"
#include "weft/pipeline/recorded/timeline.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline::recorded {
namespace {

namespace made = graph::made;

TEST(RecordedSchedule, OfAnOpTimelineIsItsSlowestReplica) {
  made::Pipeline pipeline;
  pipeline.replicas = 2;
  pipeline.stages = 4;
  pipeline.micro_batches = 8;
  pipeline.steps = 3;
  pipeline.vary = [](std::string_view name, const trace::RankTrace& rank, std::int32_t,
                     std::int32_t, Nanos usual) {
    return rank.rank == 3 && name == "forward-compute" ? 2 * usual : usual;
  };
  Diagnostics diagnostics;
  const auto job = predict::make_job(made::play(pipeline), diagnostics);
  ASSERT_TRUE(job);
  const auto recorded = recorded_schedule(*job);
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_EQ(recorded->name, "1f1b");
  // Each of the two replicas has every second rank.
  EXPECT_EQ(recorded->ranks, (std::vector<std::int32_t>{1, 3, 5, 7}));
  EXPECT_EQ(recorded->pipeline.memory_limits, (std::vector<Bytes>{4, 3, 2, 1}));
  const auto timeline = simulate(recorded->pipeline, recorded->schedule);
  ASSERT_TRUE(timeline);
  const TimedJob timed = *timed_job(*job);
  EXPECT_EQ(timeline->makespan, *step_of(timed, "1f1b", 8) - timed.rest);
}

TEST(RecordedSchedule, OfAProfileTakesAboutAsLongAsPredicted) {
  const auto folder = std::filesystem::path(WEFT_SOURCE_DIR) / "../shared/traces/h200-nccl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<std::string> files;
  for (int r = 0; r < 4; ++r) {
    files.push_back((folder / ("pp-gpt8l-w4-r" + std::to_string(r) + ".json.gz")).string());
  }
  Diagnostics diagnostics;
  const auto job = predict::open_job(files, {}, diagnostics);
  ASSERT_TRUE(job);
  const auto recorded = recorded_schedule(*job);
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_EQ(recorded->name, "1f1b");
  EXPECT_EQ(recorded->pipeline.micro_batches, 8);
  const auto timeline = simulate(recorded->pipeline, recorded->schedule);
  const auto predicted = predict_schedule(*job, {});
  // The predictor also counts the time of hosts, shared streams and the optimizer, so the times
  // differ a little.
  const auto step = static_cast<double>(predicted->step.step);
  EXPECT_NEAR(static_cast<double>(timeline->makespan), step, 0.1 * step);
}

}  // namespace
}  // namespace weft::pipeline::recorded
