// SPDX-License-Identifier: Apache-2.0
// Checks that the plans of rivals take the times that the authors' schedules and formulas give.
#include "weft/pipeline/rivals/rivals.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "weft/base/json/document.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/instances.h"
#include "weft/pipeline/schedule/list_schedule.h"

namespace weft::pipeline {
namespace {

namespace fs = std::filesystem;
constexpr Nanos kMs = 1'000'000;

/// Eight equal layers (forward 5 ms, gradients of input 6 ms and weights 4 ms) on four devices with
/// links that take almost no time.
Task even_task(Micro micro_batches) {
  Profile profile;
  for (std::int32_t i = 0; i < 8; ++i) {
    Layer layer;
    layer.id = std::to_string(i);
    layer.forward = 5 * kMs;
    layer.backward = 10 * kMs;
    layer.weight = 4 * kMs;
    layer.stash = 100;
    layer.parameters = 1000;
    profile.layers.push_back(layer);
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = uniform_cluster(4, 1'000'000'000'000);
  task.micro_batches = micro_batches;
  return task;
}

Nanos step_of(const Task& task, const char* name) {
  const auto plan = rival_plan(task, name);
  EXPECT_TRUE(plan) << name << ": " << plan.error().text();
  return plan ? plan->step : 0;
}

TEST(Rivals, EvenStagesTakeTheTextbookTimes) {
  const Task task = even_task(8);
  EXPECT_EQ(step_of(task, "gpipe"), (8 + 3) * 30 * kMs);
  EXPECT_EQ(step_of(task, "1f1b"), (8 + 3) * 30 * kMs);
  // Without interleaving the bubble is 3 x 30. Interleaving halves it.
  EXPECT_EQ(step_of(task, "interleaved"), (8 * 30 + 3 * 15) * kMs);
  // Weight gradients fill the bubble, except for (P-1)(F+I-W).
  EXPECT_EQ(step_of(task, "zb-h1"), (8 * 30 + 3 * (10 + 12 - 8)) * kMs);
}

/// Proportional shares alone are not enough for an even cut: if the last layer is the largest, the
/// first stages get too much work.
TEST(Rivals, EvenStagesTakeNoLongerThanTheMostEvenCut) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const Profile profile = random_layers(random, 4 + round % 6);
    Task task;
    task.chain = layer_chain(profile);
    task.micro_batches = 4;
    task.cluster = random_cluster(random, 2 + round % 3, round % 2 == 1);
    const auto plan = rival_plan(task, "gpipe");
    ASSERT_TRUE(plan) << plan.error().text();
    const auto time = [&](std::int32_t first, std::int32_t last, std::int32_t device) {
      return static_cast<double>(task.chain.forward[last] - task.chain.forward[first] +
                                 task.chain.backward[last] - task.chain.backward[first]) /
             task.cluster.speed[device];
    };
    // Enumerates all cuts. The best cut has the shortest slowest stage. If this is equal, the sum
    // of the squares of stage times decides.
    std::tuple<double, double, std::vector<std::int32_t>> best{1e300, 0, {}};
    std::vector<std::int32_t> ends;
    const auto cut = [&](auto& self, double slowest, double squares) -> void {
      const auto stage = static_cast<std::int32_t>(ends.size());
      const std::int32_t first = stage > 0 ? ends.back() : 0;
      const bool is_last = stage + 1 == task.cluster.devices;
      for (std::int32_t end = is_last ? task.chain.size() : first + 1;
           end <= task.chain.size() && end > first; ++end) {
        const double t = time(first, end, stage);
        ends.push_back(end);
        if (is_last)
          best = std::min(best, {std::max(slowest, t), squares + t * t, ends});
        else
          self(self, std::max(slowest, t), squares + t * t);
        ends.pop_back();
      }
    };
    cut(cut, 0, 0);
    std::vector<PlannedStage> even;
    for (std::int32_t s = 0; s < task.cluster.devices; ++s) {
      const auto& all = std::get<2>(best);
      even.push_back({s > 0 ? all[s - 1] : 0, all[s], {s}, false});
    }
    EXPECT_LE(plan->step, Evaluator(task, {"gpipe"}).evaluate(even)->step) << "round " << round;
  }
}

TEST(Rivals, SchedulesEqualTheirFamiliesOnTheSamePlacement) {
  const Task task = even_task(12);
  Pipeline v = make_chain(std::vector<Nanos>(8, 5 * kMs), std::vector<Nanos>(8, 6 * kMs),
                          std::vector<Nanos>(8, 4 * kMs), 0, 12);
  for (StageId s = 0; s < 8; ++s) v.stages[s].device = std::min(s, 7 - s);
  for (const char* name : {"zb-v", "dualpipe-v"}) {
    EXPECT_EQ(step_of(task, name), simulate(v, *family(name, v))->makespan) << name;
  }
  const Pipeline flat = make_chain(std::vector<Nanos>(4, 10 * kMs), std::vector<Nanos>(4, 12 * kMs),
                                   std::vector<Nanos>(4, 8 * kMs), 0, 12);
  EXPECT_EQ(step_of(task, "zb-auto"), simulate(flat, *zb_auto(flat))->makespan);
}

TEST(Rivals, EveryNameHasAPlanOrAnErrorThatSaysWhyNot) {
  const Task task = even_task(8);
  for (const std::string& name : rivals()) EXPECT_TRUE(rival_plan(task, name)) << name;
  EXPECT_FALSE(rival_plan(task, "searched"));
  const auto few = rival_plan(even_task(4), "dualpipe-v");
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(few.error().message.find("as many micro-batches as stages"), std::string::npos);
}

TEST(Rivals, FiguresCountIdleTimeAndTheMemoryOfTheFullestDevice) {
  const Task task = even_task(8);
  const auto plan = rival_plan(task, "1f1b");
  const auto figures = figures_of(task, *plan);
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_NEAR(figures->idle, 3.0 / 11, 1e-12);
  // The first stage holds four times 2000 bytes of parameters and four micro-batches of 200 bytes.
  EXPECT_EQ(figures->most_memory, 4 * 2000 + 4 * 200);
  EXPECT_EQ(figures_of(task, *rival_plan(task, "gpipe"))->most_memory, 4 * 2000 + 8 * 200);
}

TEST(Rivals, KnownSchedulesTakeTheReferenceTimesOnTheSharedInstances) {
  const fs::path file = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines" /
                        "weft_reference" / "zero_bubble_instances.json";
  if (!fs::exists(file)) GTEST_SKIP() << "the shared instances are not beside this checkout";
  const auto pipelines = read_instances(file.string());
  const auto json = read_json(file.string());
  ASSERT_TRUE(pipelines && json);
  int compared = 0;
  for (std::size_t i = 0; i < pipelines->size(); ++i) {
    const Pipeline& pipeline = (*pipelines)[i];
    const JsonValue& reference = *json->find("instances")->items[i].find("ref");
    for (const auto& [name, field] :
         {std::pair("gpipe", "gpipe"), {"1f1b", "f1b1"}, {"zb-h1", "zbh1"}}) {
      if (!reference.find(field)) continue;
      const auto timeline = simulate(pipeline, *family(name, pipeline));
      EXPECT_EQ(timeline->makespan, reference.find(field)->as_int())
          << pipeline.name << " " << name;
      ++compared;
    }
    const auto automatic = simulate(pipeline, *zb_auto(pipeline));
    EXPECT_LE(automatic->makespan, reference.find("zb_auto_makespan")->as_int()) << pipeline.name;
    EXPECT_GE(automatic->makespan, reference.find("lower_bound")->as_int()) << pipeline.name;
  }
  EXPECT_EQ(compared, 12);
}

}  // namespace
}  // namespace weft::pipeline
