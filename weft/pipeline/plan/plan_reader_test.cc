// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "weft/pipeline/plan/plan_file.h"
#include "weft/pipeline/plan/random_task.h"

namespace weft::pipeline {
namespace {

TEST(PlanReader, ReadsWhatThePlannerWrote) {
  std::mt19937 random(5);
  for (int round = 0; round < 8; ++round) {
    const Profile profile = random_layers(random, 3 + round);
    Task task;
    task.chain = layer_chain(profile);
    task.micro_batches = 2 + round;
    task.cluster = random_cluster(random, 4, round % 2 == 1);
    if (round % 3 == 0) task.cluster.shared = {{{0}, {1}, 2'000'000'000}};
    const auto planned = make_plan(task, {});
    ASSERT_TRUE(planned) << planned.error().text();
    const auto pipeline = pipeline_of(task, planned->plan.stages);
    const auto timeline = simulate(*pipeline, planned->schedule);
    const std::string file =
        plan_file(profile, task, *planned, *pipeline, planned->schedule, *timeline);
    const auto read = parse_plan(file, "plan.json");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->stages, planned->plan.stages);
    EXPECT_EQ(read->schedule, planned->schedule);
    EXPECT_EQ(read->schedule_name, planned->plan.schedule);
    EXPECT_EQ(read->profile.name, profile.name);
    // The file holds all times exactly, so the simulated step is the planned one.
    const auto again = pipeline_of(read->task, read->stages);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(simulate(*again, read->schedule)->makespan, planned->plan.step);
    EXPECT_EQ(read->step, planned->plan.step);
    EXPECT_EQ(read->bound, planned->bound);
  }
}

TEST(PlanReader, ErrorsNameTheFileAndTheMember) {
  EXPECT_NE(parse_plan("{}", "a.json").error().text().find("a.json: this is not a plan"),
            std::string::npos);
  const auto cut = parse_plan(
      R"({"pipeline_plan_version": 1, "layers": [{"id": "a", "forward_ns": 1, "backward_ns": 2}]})",
      "a.json");
  EXPECT_NE(cut.error().text().find("a.json: 'cluster' is missing"), std::string::npos);
}

}  // namespace
}  // namespace weft::pipeline
