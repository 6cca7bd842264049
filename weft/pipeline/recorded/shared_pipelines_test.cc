// SPDX-License-Identifier: Apache-2.0
// Predicts recorded pipelines under other schedules, and compares the steps with measurements
// without the profiler.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "weft/pipeline/recorded/predict.h"

namespace weft::pipeline::recorded {
namespace {

struct Truth {
  const char* schedule;
  Micro micro_batches;
  double step_ms, within;
};

/// Reads `pipelined_ms` of the files with measured steps.
void expect_truths(const std::string& name, int ranks, const std::vector<Truth>& truths) {
  const std::filesystem::path folder =
      std::filesystem::path(WEFT_SOURCE_DIR) / "../shared/traces/h200-nccl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<std::string> files;
  for (int r = 0; r < ranks; ++r) {
    files.push_back((folder / (name + "-r" + std::to_string(r) + ".json.gz")).string());
  }
  Diagnostics diagnostics;
  const auto job = predict::open_job(files, {}, diagnostics);
  ASSERT_TRUE(job.has_value());
  for (const Truth& truth : truths) {
    ScheduleQuestion question;
    question.schedule = truth.schedule;
    question.micro_batches = truth.micro_batches;
    const auto answer = predict_schedule(*job, question);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    const double ms = static_cast<double>(answer->step.step) / 1e6;
    EXPECT_LT(std::abs(ms / truth.step_ms - 1), truth.within)
        << truth.schedule << " with " << truth.micro_batches << ": " << ms << " ms";
    EXPECT_EQ(answer->recorded_schedule, "1f1b");
    EXPECT_EQ(answer->recorded_micro_batches, 8);
  }
}

TEST(SharedPipelines, FourRanksUnderOtherSchedules) {
  expect_truths("pp-gpt8l-w4", 4,
                {{"1f1b", 8, 97.97, 0.06},
                 {"gpipe", 8, 104.03, 0.06},
                 {"1f1b", 16, 172.55, 0.06},
                 {"interleaved", 8, 142.97, 0.10}});
}

TEST(SharedPipelines, TwoRanksThatTheProfilerBindsToLaunches) {
  expect_truths(
      "pp-gpt8l-w2", 2,
      {{"gpipe", 8, 89.76, 0.06}, {"1f1b", 16, 179.46, 0.06}, {"interleaved", 8, 102.45, 0.10}});
}

}  // namespace
}  // namespace weft::pipeline::recorded
