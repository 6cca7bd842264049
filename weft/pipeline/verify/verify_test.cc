// SPDX-License-Identifier: Apache-2.0
// Tests that the checker accepts the planner's plans, and that it finds each kind of damage to
// them.
#include "weft/pipeline/verify/verify.h"

#include <gtest/gtest.h>

#include <tuple>

#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/verify/file_of.h"
#include "weft/pipeline/verify/schedule_bound.h"

namespace weft::pipeline {
namespace {

/// Returns "" if all findings are right; otherwise the first wrong finding.
std::string verdict(const std::string& json) {
  const auto findings = verify::verify_plan_text(json, "plan.json");
  if (!findings) return findings.error().text();
  for (const auto& finding : *findings) {
    if (!finding.right) return finding.about + ": " + finding.says;
  }
  return "";
}

std::string with(std::string json, const std::string& old, const std::string& by) {
  const std::size_t at = json.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return json.replace(at, old.size(), by);
}

TEST(Verify, FindsPlansOfThePlannerRight) {
  std::mt19937 random(2);
  for (int round = 0; round < 24; ++round) {
    const Profile profile = random_layers(random, 2 + round % 9);
    Task task;
    task.chain = layer_chain(profile);
    task.micro_batches = 1 + round % 8;
    const std::int32_t devices = std::vector{2, 3, 4, 6, 12, 70}[round % 6];
    task.cluster = round % 4 == 0 ? uniform_cluster(devices, 9'000'000'000, 3000)
                                  : random_cluster(random, devices, round % 2 == 1);
    if (round % 3 == 0) task.cluster.shared = {{{0}, {1}, 2'000'000'000}};
    if (round % 5 == 0) {
      task.limit_memory = true;
      task.cluster.memory.assign(devices, 900'000'000);
    }
    PlannerOptions options;
    if (round % 7 == 0) options.stages = 2;
    EXPECT_EQ(verdict(file_of(profile, task, options)), "") << "round " << round;
  }
}

TEST(Verify, ConfirmsBoundsThatMemoryMakes) {
  std::mt19937 random(21);
  int planned = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    Profile profile = random_layers(random, 3 + round % 9);
    for (Layer& layer : profile.layers) {
      layer.stash *= number_in(random, 1, 6);
      if (round % 2 == 0) layer.weight = layer.backward * 4 / 10;
    }
    Task task;
    task.chain = layer_chain(profile);
    task.micro_batches = 2 + round % 11;
    const std::int32_t devices = std::vector{2, 3, 4, 6, 12}[round % 5];
    task.cluster = round % 4 == 0 ? uniform_cluster(devices, 9'000'000'000, 3000)
                                  : random_cluster(random, devices, round % 3 == 1);
    task.limit_memory = true;
    const Bytes all = task.state_factor * task.chain.parameters.back() + task.chain.stash.back();
    for (Bytes& memory : task.cluster.memory) {
      memory = all * number_in(random, 10, round % 3 == 0 ? 10 : 25) / (6 * devices);
    }
    PlannerOptions options;
    if (round % 3 == 0) options.chunks = 1;
    // These schedules ignore memory limits, so only few plans fit.
    if (round % 4 == 1) options.schedules = {"gpipe"};
    if (round % 4 == 2) options.schedules = {"zb-h1"};
    if (!make_plan(task, options)) continue;
    ++planned;
    EXPECT_EQ(verdict(file_of(profile, task, options)), "");
  }
  EXPECT_GT(planned, 12);
}

/// The stages visit the groups in a loop or in a V. A group has one or two devices. The planner's
/// simulator gives the times. If there are four groups, some pairs of groups exchange no messages.
TEST(Verify, AgreesOnPlansWhoseStagesShareDevices) {
  std::mt19937 random(8);
  for (int round = 0; round < 60; ++round) {
    Profile profile = random_layers(random, 12);
    if (round % 2 == 1) {
      for (Layer& layer : profile.layers) layer.weight = layer.backward / 2;
    }
    Task task;
    task.chain = layer_chain(profile);
    task.micro_batches = 1 + round % 7;
    task.cluster = random_cluster(random, 8, true);
    if (round % 3 == 0) task.cluster.shared = {{{0, 1}, {2, 3}, 2'000'000'000}};
    if (round % 5 == 0) {
      task.limit_memory = true;
      task.cluster.memory.assign(8, 4'000'000'000);
    }
    const std::int32_t groups = 2 + round % 3, chunks = 2 + round / 2 % 2;
    const bool is_v = round % 4 > 1;
    std::vector<PlannedStage> stages;
    for (std::int32_t s = 0; s < groups * chunks; ++s) {
      const std::int32_t place = s % groups;
      const std::int32_t group = is_v && s / groups % 2 == 1 ? groups - 1 - place : place;
      PlannedStage stage{s, s + 1, {2 * group}, round % 5 == 0 && s == 1};
      if (group == 0 || round % 4 == 3) stage.devices = {2 * group, 2 * group + 1};
      stages.push_back(stage);
    }
    stages.back().last = task.chain.size();
    const auto plan = Evaluator(task, {}).evaluate(stages);
    ASSERT_TRUE(plan) << plan.error().text();
    const auto pipeline = pipeline_of(task, plan->stages);
    EXPECT_EQ(pipeline->devices(), groups);
    Planned planned;
    planned.plan = *plan;
    planned.most_chunks = chunks;
    planned.schedule = *plan_schedule(*pipeline, plan->schedule);
    const auto timeline = simulate(*pipeline, planned.schedule);
    EXPECT_EQ(timeline->makespan, plan->step);
    const std::string right =
        plan_file(profile, task, planned, *pipeline, planned.schedule, *timeline);
    EXPECT_EQ(verdict(right), "") << "round " << round;
    const std::string more = R"("most_chunks":)" + std::to_string(chunks);
    EXPECT_NE(
        verdict(with(right, more, R"("most_chunks":1)")).find("than the 1 stage that it may have"),
        std::string::npos);
  }
}

/// The layers take no time, so bounds must be 0 and not negative. The first model has one layer, so
/// its plan has one stage.
TEST(Verify, AgreesOnPlansWithoutWork) {
  Profile profile;
  for (int layers = 1; layers <= 3; ++layers) {
    profile.layers.emplace_back().id = "l" + std::to_string(layers);
    profile.layers.back().stash = 1000;
    for (const std::int32_t devices : {2, 70}) {
      Task task;
      task.chain = layer_chain(profile);
      task.micro_batches = 2;
      task.cluster = uniform_cluster(devices, 1'000'000'000, 0);
      task.limit_memory = layers > 1;
      EXPECT_EQ(verdict(file_of(profile, task, {})), "") << layers << " on " << devices;
      EXPECT_GE(bound_of_all(task), 0);
    }
  }
}

TEST(Verify, RefusesWhat64BitsDoNotHold) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 6);
  Task task = small_task(profile);
  task.limit_memory = true;
  task.cluster.memory.assign(3, 80'000'000'000);
  const std::string right = file_of(profile, task, {});
  ASSERT_EQ(verdict(right), "");
  const std::tuple<std::string, std::string, std::string> absurd[] = {
      {R"("state_factor":)", "state_factor", R"("state_factor":999999999999)"},
      {R"("forward_ns":)", "layers", R"("forward_ns":99999999999)"},
      {R"("weight_ns":0)", "weight_ns", R"("weight_ns":99999999)"},
      {R"("stash_bytes":)", "layers", R"("stash_bytes":9999999999)"},
      {R"("activation_bytes":)", "layers", R"("activation_bytes":99999999999)"},
      {R"("latency_ns":[[0,)", "latency_ns", R"("latency_ns":[[0,99999999999999)"},
      {R"("bandwidth":[[0,50000000000)", "bandwidth", R"("bandwidth":[[0,1)"}};
  for (const auto& [old, named, by] : absurd) {
    EXPECT_EQ(verdict(with(right, old, by)),
              "plan.json: '" + named + "' is missing or has no valid value")
        << by;
  }
}

/// The diagonal of the matrix of latencies must not matter: no device sends to itself.
TEST(Verify, TakesNoLatencyFromTheDiagonal) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 2);
  Task task = small_task(profile);
  PlannerOptions options;
  options.stages = 1;
  const std::string right = file_of(profile, task, options);
  ASSERT_NE(right.find(R"("devices":[0,1,2])"), std::string::npos) << right;
  const std::string diagonal = with(right, R"("latency_ns":[[0,)", R"("latency_ns":[[9000,)");
  EXPECT_EQ(verdict(diagonal), "file: the file was changed after it was written");
}

TEST(Verify, FindsWhatIsWrong) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 6);
  Task task = small_task(profile);
  PlannerOptions options;
  options.stages = 3;
  options.schedules = {"1f1b"};
  const std::string right = file_of(profile, task, options);
  ASSERT_EQ(verdict(right), "");
  EXPECT_EQ(verdict("{}").find("plan.json: this is no plan"), 0u);
  EXPECT_EQ(verdict(with(right, R"("step_ns":)", R"("step_ns":1)")).find("time"), 0u);
  EXPECT_EQ(verdict(with(right, R"("lower_bound_ns":)", R"("lower_bound_ns":9)")).find("bound"),
            0u);
  for (const std::string figure : {"step_ms", "lower_bound_ms", "one_stage_bound_ms", "gap_pct"}) {
    const std::string name = '"' + figure + "\":";
    EXPECT_EQ(verdict(with(right, name, name + "7")).find("figures: " + figure), 0u) << figure;
  }
  EXPECT_EQ(verdict(with(right, R"("devices":[1])", R"("devices":[0,1])")).find("devices"), 0u);
  EXPECT_EQ(verdict(with(right, R"("devices":[1])", R"("devices":[0])")),
            "devices: device 0 has more than the 1 stage that it may have");
  const std::string orders = R"("orders":[)";
  EXPECT_EQ(verdict(with(right, orders, orders + R"("0F0",)")),
            "time: 4 orders for 3 groups of devices");
  EXPECT_EQ(verdict(with(right, "1F0 1F1", "0F0 1F1")).find("time: order 1 holds an op of stage 0"),
            0u);
  EXPECT_EQ(verdict(with(right, "1F0 1F1", "1F1 1F0")).find("time"), 0u);
  for (const std::string op : {"1F0.4", "1e0F0", "1F-0", "1F", "F0", "1 F0"}) {
    EXPECT_EQ(verdict(with(right, "1F0 1F1", op + " 1F1")),
              "plan.json: 'orders' is missing or has no valid value")
        << op;
  }
  EXPECT_EQ(verdict(with(right, "1F0 1F1", "1F0 1F0")).find("time: the order of stage 1 runs"), 0u);
  EXPECT_EQ(verdict(with(right, "2F0 2B0", "2B0 2F0")).find("time: stage"), 0u);
  EXPECT_EQ(verdict(with(right, R"("layers":["0")", R"("layers":["1")")),
            "layers: stage 0 has '1' where '0' should be");
  EXPECT_EQ(verdict(with(right, R"("layers":["0")", R"("layers":["9")")),
            "layers: stage 0 has '9', which is not in the list of layers");
  EXPECT_EQ(verdict(with(right, R"("layers":["0")", R"("layers":["0","0")")),
            "layers: stage 0 has '0', which is already in an earlier place");
  EXPECT_EQ(verdict(with(right, R"("5"],"devices")", R"("4"],"devices")")).find("layers: "), 0u);
  EXPECT_EQ(verdict(with(right, R"(["0","1"])", R"(["1","0"])")).find("layers"), 0u);
}

/// Older plan files call the field no_shorter_one_stage_plan "exhausted".
TEST(Verify, ReadsTheFormerNameOfWhatWasTried) {
  std::mt19937 random(6);
  const Profile profile = random_layers(random, 4);
  Task task;
  task.chain = layer_chain(profile);
  task.micro_batches = 2;
  task.cluster = uniform_cluster(2, 9'000'000'000);
  std::string json = file_of(profile, task, {});
  const std::size_t sum = json.find(",\"checksum\"");
  ASSERT_NE(sum, std::string::npos);
  json.replace(sum, std::string::npos, "}");
  EXPECT_EQ(verdict(json), "");
  EXPECT_EQ(verdict(with(json, "no_shorter_one_stage_plan", "exhausted")), "");
  EXPECT_NE(verdict(with(json, "no_shorter_one_stage_plan", "something_else")), "");
}

/// A bound that is one nanosecond too high is refused, and the message shows the difference.
TEST(Verify, TellsBoundsApartToTheNanosecond) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 6);
  Task task = small_task(profile);
  const std::string right = file_of(profile, task);
  ASSERT_EQ(verdict(right), "");
  const Nanos bound = bound_of_all(task);
  const auto field = [](Nanos time) { return R"("lower_bound_ns":)" + std::to_string(time); };
  const auto shown = [](Nanos time) { return std::to_string(static_cast<double>(time) * 1e-6); };
  EXPECT_EQ(verdict(with(right, field(bound), field(bound + 1))),
            "bound: " + shown(bound + 1) + " ms is not proved, only " + shown(bound) + " is");
}

TEST(Verify, KnowsOrdersByTheirNames) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 6);
  Task task = small_task(profile);
  task.micro_batches = 16;
  const std::vector<std::string> names{"1f1b", "1f1b-2", "pe", "gpipe"};
  for (const std::string& name : names) {
    PlannerOptions options;
    options.stages = 3;
    options.replicas = 1;
    options.schedules = {name};
    const std::string right = file_of(profile, task, options);
    EXPECT_EQ(verdict(right), "") << name;
    for (const std::string& other : names) {
      const std::string renamed =
          verdict(with(right, R"("schedule":")" + name, R"("schedule":")" + other));
      EXPECT_EQ(renamed.find("figures: the orders are not those"), other == name ? -1ull : 0u)
          << name << " as " << other;
    }
  }
}

TEST(Verify, ItsBoundOfSchedulesIsThatOfTheScheduler) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    RandomShape shape;
    shape.stages = shape.devices = 1 + round % 6;
    shape.micro_batches = 1 + round % 9;
    Pipeline pipeline = random_pipeline(shape, random);
    pipeline.split_backward = round % 2 == 0;
    std::vector<verify::BoundStage> stages;
    std::vector<verify::BoundChannel> channels;
    for (const Stage& stage : pipeline.stages) {
      stages.push_back({stage.forward, stage.input, stage.weight, stage.all_reduce});
    }
    for (const Boundary& boundary : pipeline.boundaries) {
      channels.push_back({boundary.forward.time,
                          boundary.backward.time,
                          boundary.forward.latency,
                          boundary.backward.latency,
                          {},
                          {}});
    }
    EXPECT_EQ(
        verify::schedule_bound(stages, channels, pipeline.micro_batches, pipeline.split_backward),
        lower_bounds(pipeline).best())
        << "round " << round;
  }
}

TEST(Verify, FindsMemoryThatDoesNotHold) {
  std::mt19937 random(4);
  const Profile profile = random_layers(random, 4);
  Task task = small_task(profile);
  task.limit_memory = true;
  task.cluster = uniform_cluster(2, 50'000'000'000);
  task.cluster.memory.assign(2, 800'000'000);
  const std::string right = file_of(profile, task);
  ASSERT_EQ(verdict(right), "");
  EXPECT_EQ(verdict(with(right, R"("memory_bytes":[800000000,800000000])",
                         R"("memory_bytes":[80000000,80000000])"))
                .find("memory"),
            0u);
}

}  // namespace
}  // namespace weft::pipeline
