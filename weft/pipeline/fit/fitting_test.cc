// SPDX-License-Identifier: Apache-2.0
// Tests the searches for plans that fit into memory. An enumeration of all plans gives the right
// answers.
#include "weft/pipeline/fit/fitting.h"

#include <gtest/gtest.h>

#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/fit/tight_task.h"
#include "weft/pipeline/plan/planner.h"

namespace weft::pipeline {
namespace {

PlannerOptions short_planning(std::int32_t chunks) {
  PlannerOptions options;
  options.chunks = chunks;
  options.ops = 50'000;
  return options;
}

bool says_nothing_fits(const Error& error) {
  return error.code == ErrorCode::kInfeasible &&
         error.message.find("no plan fits into the memory of the devices: ") == 0;
}

bool fits_and_runs(const Task& task, const Planned& planned) {
  const auto pipeline = pipeline_of(task, planned.plan.stages);
  const auto timeline = pipeline ? simulate(*pipeline, planned.schedule)
                                 : Result<Timeline>(tl::unexpected(pipeline.error()));
  return timeline && fits(*pipeline, *timeline);
}

TEST(Fitting, AgreesWithAllPlansWithOneStagePerDevice) {
  int found = 0, none = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto layers = static_cast<std::int32_t>(number_in(random, 2, 7));
    const auto devices = static_cast<std::int32_t>(number_in(random, 3, 11));
    const Task task =
        tight_task(random, layers, devices, static_cast<double>(number_in(random, 90, 200)) / 100);
    FittingLimits limits;
    if (seed % 4 == 3) limits.replicas = static_cast<std::int32_t>(number_in(random, 1, 3));
    const Fitting fitting = fit_stages(task, limits);
    if (AnyFits(task, limits.replicas).any()) {
      ASSERT_EQ(fitting.answer, Fit::kFound);
      EXPECT_TRUE(holds_one_micro_batch(task, fitting.stages));
      EXPECT_EQ(why_nothing_fits(task, limits.replicas), "");
      ++found;
    } else {
      EXPECT_EQ(fitting.answer, Fit::kNone);
      ++none;
    }
  }
  EXPECT_GT(found, 50);
  EXPECT_GT(none, 50);
}

TEST(Fitting, AgreesWithAllPlansWhoseStagesShareDevices) {
  int found = 0, none = 0, only_shared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto layers = static_cast<std::int32_t>(number_in(random, 2, 6));
    const auto devices = static_cast<std::int32_t>(number_in(random, 1, 4));
    const Task task =
        tight_task(random, layers, devices, static_cast<double>(number_in(random, 70, 150)) / 100);
    FittingLimits limits;
    limits.chunks = 2;
    const Fitting fitting = fit_shared_stages(task, limits);
    if (AnySharedFits(task, 2).any()) {
      ASSERT_EQ(fitting.answer, Fit::kFound);
      EXPECT_TRUE(holds_one_micro_batch(task, fitting.stages));
      EXPECT_EQ(why_nothing_fits(task, 0), "");
      ++found;
      only_shared += fit_stages(task, limits).answer == Fit::kNone;
    } else {
      EXPECT_EQ(fitting.answer, Fit::kNone);
      ++none;
    }
  }
  EXPECT_GT(found, 50);
  EXPECT_GT(none, 50);
  EXPECT_GT(only_shared, 5);
}

TEST(Fitting, HasTheRequiredNumberOfStages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Task task = tight_task(random, 8, 6, 4);
    FittingLimits limits;
    limits.chunks = 3;
    for (limits.stages = 1; limits.stages <= 8; ++limits.stages) {
      for (const bool shared : {false, true}) {
        const Fitting fitting = shared ? fit_shared_stages(task, limits) : fit_stages(task, limits);
        if (!shared && limits.stages > 6) {
          EXPECT_EQ(fitting.answer, Fit::kNone);
        }
        if (fitting.answer != Fit::kFound) continue;
        EXPECT_EQ(std::ssize(fitting.stages), limits.stages);
        EXPECT_TRUE(holds_one_micro_batch(task, fitting.stages));
      }
    }
  }
}

TEST(Fitting, FindsPlantedPlansOnManyDevices) {
  for (const std::int32_t devices : {16, 24, 48}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      const auto layers =
          static_cast<std::int32_t>(number_in(random, devices / 2 + 1, 2 * devices));
      const Task task = planted_task(random, layers, devices, 1.05);
      const Fitting fitting = fit_stages(task, {});
      ASSERT_EQ(fitting.answer, Fit::kFound) << devices << " devices, seed " << seed;
      EXPECT_TRUE(holds_one_micro_batch(task, fitting.stages));
    }
  }
}

TEST(Fitting, SaysWhenItGaveUp) {
  std::mt19937 random(1);
  const Task task = planted_task(random, 24, 24, 1);
  FittingLimits limits;
  limits.effort = 1;
  EXPECT_EQ(fit_stages(task, limits).answer, Fit::kUnknown);
  EXPECT_EQ(fit_shared_stages(task, limits).answer, Fit::kUnknown);
}

/// Layer i just fits on device i, where devices grow or shrink with i. Only one order of the
/// devices fits.
TEST(Planner, FindsTheOneOrderOfDevicesThatFits) {
  for (const bool rising : {true, false}) {
    std::mt19937 random(1);
    Profile profile = random_layers(random, 11);
    for (std::int32_t i = 0; i < 11; ++i) {
      profile.layers[i].parameters = (i + 1) * Bytes{290'000'000};
      profile.layers[i].activation = profile.layers[i].stash = 1'000'000;
    }
    Task task;
    task.chain = layer_chain(profile);
    task.cluster = uniform_cluster(11, 10'000'000'000);
    task.micro_batches = 4;
    task.limit_memory = true;
    for (std::int32_t d = 0; d < 11; ++d) {
      task.cluster.memory[d] = (rising ? d + 1 : 11 - d) * Bytes{1'200'000'000};
    }
    const auto planned = make_plan(task, {});
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_TRUE(fits_and_runs(task, *planned));
  }
}

TEST(Planner, FindsAPlanOnElevenDevicesIfOneFits) {
  int found = 0, none = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto layers = static_cast<std::int32_t>(number_in(random, 2, 7));
    const Task task =
        tight_task(random, layers, 11, static_cast<double>(number_in(random, 90, 200)) / 100);
    const auto planned = make_plan(task, short_planning(1));
    if (AnyFits(task, 0).any()) {
      ASSERT_TRUE(planned) << planned.error().message;
      EXPECT_TRUE(fits_and_runs(task, *planned));
      ++found;
    } else {
      ASSERT_FALSE(planned);
      EXPECT_TRUE(says_nothing_fits(planned.error())) << planned.error().message;
      ++none;
    }
  }
  EXPECT_GT(found, 20);
  EXPECT_GT(none, 20);
}

TEST(Planner, FindsAPlanWhoseStagesShareDevicesIfOneFits) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto layers = static_cast<std::int32_t>(number_in(random, 2, 6));
    const auto devices = static_cast<std::int32_t>(number_in(random, 2, 4));
    const Task task =
        tight_task(random, layers, devices, static_cast<double>(number_in(random, 70, 150)) / 100);
    const auto planned = make_plan(task, short_planning(2));
    if (AnySharedFits(task, 2).any()) {
      ASSERT_TRUE(planned) << planned.error().message;
      EXPECT_TRUE(fits_and_runs(task, *planned));
    } else {
      ASSERT_FALSE(planned);
      EXPECT_TRUE(says_nothing_fits(planned.error())) << planned.error().message;
    }
  }
}

TEST(Planner, FindsPlansForAScheduleThatKeepsAllMicroBatches) {
  // Stages of the first layers must recompute, because their input is small. Stages of the last
  // layers must not, because their input is as large as their activations.
  Profile profile;
  for (int i = 0; i < 12; ++i) {
    Layer layer;
    layer.id = layer.name = std::to_string(i);
    layer.forward = layer.backward = 1'000'000;
    layer.parameters = 1000;
    layer.activation = i < 5 ? 1'000 : 100'000;
    layer.stash = i < 6 ? 800'000 : 100'000;
    profile.layers.push_back(layer);
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = uniform_cluster(12, 10'000'000'000);
  task.micro_batches = 8;
  task.limit_memory = true;
  // Each device has just enough memory for eight micro-batches of one layer.
  task.cluster.memory.assign(12, 4000 + 850'000);
  PlannerOptions options = short_planning(1);
  options.schedules = {"gpipe"};
  options.replicas = 1;
  const auto planned = make_plan(task, options);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(fits_and_runs(task, *planned));
  // One micro-batch of each layer fits, but eight do not. The planner finds no plan, but it cannot
  // prove that none exists.
  task.cluster.memory.assign(12, 4000 + 801'000);
  const auto none = make_plan(task, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message.find("no plan was found that fits into the memory"), 0u)
      << none.error().message;
}

TEST(Planner, SaysWhichLayersDoNotFitOnUnequalDevices) {
  std::mt19937 random(5);
  Profile profile = random_layers(random, 6);
  for (Layer& layer : profile.layers) layer.parameters = layer.stash = 1'000;
  profile.layers[2].parameters = profile.layers[4].parameters = 1'000'000'000;
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = uniform_cluster(12, 10'000'000'000);
  task.limit_memory = true;
  task.micro_batches = 2;
  task.cluster.memory.assign(12, 3'900'000'000);
  task.cluster.memory[7] = 6'000'000'000;
  const auto few = make_plan(task, {});
  ASSERT_FALSE(few);
  EXPECT_EQ(
      few.error().message,
      "no plan fits into the memory of the devices: 2 of the layers need devices of 4.00 GB "
      "or more and take 8.00 GB for parameters and their state, but the 1 device of that size "
      "has 6.00 GB");
  task.cluster.memory.assign(12, 0);
  for (std::int32_t d = 0; d < 12; ++d) task.cluster.memory[d] = d < 1 ? 7'900'000'000 : 1'000'000;
  profile.layers[4].parameters = 500'000'000;
  profile.layers[2].parameters = 500'000'000;
  profile.layers[1].parameters = 990'000'000;
  task.chain = layer_chain(profile);
  const auto bulky = make_plan(task, {});
  ASSERT_FALSE(bulky);
  EXPECT_TRUE(says_nothing_fits(bulky.error())) << bulky.error().message;
}

TEST(Evaluator, WarmedUpSchedulesWithinMemoryNeverDeadlock) {
  // The first stage can hold one micro-batch, the third stage a few, and the other stages all.
  std::mt19937 random(4);
  Profile profile = random_layers(random, 4);
  for (Layer& layer : profile.layers) {
    layer.parameters = 0;
    layer.stash = 1'000'000;
  }
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = uniform_cluster(4, 10'000'000'000);
  task.micro_batches = 6;
  task.limit_memory = true;
  task.cluster.memory = {1'500'000, 100'000'000, 3'500'000, 100'000'000};
  std::vector<PlannedStage> stages;
  for (std::int32_t s = 0; s < 4; ++s) stages.push_back({s, s + 1, {s}, false});
  const auto pipeline = pipeline_of(task, stages);
  ASSERT_TRUE(pipeline);
  for (const std::int32_t depth : {1, 2, 4}) {
    const Schedule schedule = warmed_up(*pipeline, depth);
    const auto timeline = simulate(*pipeline, schedule);
    ASSERT_TRUE(timeline) << timeline.error().message;
    EXPECT_TRUE(fits(*pipeline, *timeline));
  }
}

}  // namespace
}  // namespace weft::pipeline
