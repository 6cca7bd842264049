// SPDX-License-Identifier: Apache-2.0
// Compares the planner with an enumeration of all plans of small tasks, and with other planners.
#include "weft/pipeline/plan/planner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "weft/pipeline/fit/tight_task.h"
#include "weft/pipeline/plan/plan_search.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/rivals/bottleneck.h"
#include "weft/pipeline/rivals/device_orders.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::pipeline {
namespace {

namespace fs = std::filesystem;
const fs::path kShared = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines";

Task make_task(const Profile& profile, Cluster cluster, Micro micro_batches) {
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = std::move(cluster);
  task.micro_batches = micro_batches;
  return task;
}

PlannerOptions one_stage_a_device() {
  PlannerOptions options;
  options.chunks = 1;
  return options;
}

/// Enumerates every way to cut the layers and to give sets of devices to the stages. Two different
/// sets are disjoint. Up to `chunks` stages may have the same set.
class AllPlans {
 public:
  AllPlans(const Task& task, std::vector<std::string> schedules, std::int32_t chunks = 1)
      : task_(task), evaluator_(task, std::move(schedules)), chunks_(chunks) {}
  Nanos best() {
    go(0, 0);
    return best_;
  }

 private:
  void go(std::int32_t layer, std::uint32_t used) {
    if (layer == task_.chain.size()) {
      if (task_.limit_memory)
        recompute_from(0);
      else if (const auto result = evaluator_.search(stages_))
        best_ = std::min(best_, result->step);
      return;
    }
    for (std::uint32_t set = 1; set < 1u << task_.cluster.devices; ++set) {
      if ((set & used) != 0 && (taken_[set] == 0 || taken_[set] == chunks_)) continue;
      ++taken_[set];
      PlannedStage stage;
      for (std::int32_t d = 0; d < task_.cluster.devices; ++d) {
        if ((set >> d & 1) != 0) stage.devices.push_back(d);
      }
      for (std::int32_t last = layer + 1; last <= task_.chain.size(); ++last) {
        stage.first = layer;
        stage.last = last;
        stages_.push_back(stage);
        go(last, used | set);
        stages_.pop_back();
      }
      --taken_[set];
    }
  }
  /// Enumerates every choice of stages that recompute and times each choice.
  void recompute_from(std::size_t stage) {
    if (stage == stages_.size()) {
      const auto pipeline = pipeline_of(task_, stages_);
      if (!pipeline) return;
      for (std::string name : {"1f1b", "1f1b-2", "pe", "gpipe", "searched"}) {
        const auto schedule = plan_schedule(*pipeline, name);
        const auto timeline = schedule ? simulate(*pipeline, *schedule)
                                       : Result<Timeline>(tl::unexpected(schedule.error()));
        if (timeline && fits(*pipeline, *timeline)) best_ = std::min(best_, timeline->makespan);
      }
      return;
    }
    for (const bool recompute : {false, true}) {
      stages_[stage].recompute = recompute;
      recompute_from(stage + 1);
    }
    stages_[stage].recompute = false;
  }

  const Task& task_;
  Evaluator evaluator_;
  std::int32_t chunks_;
  std::map<std::uint32_t, std::int32_t> taken_;  ///< number of stages per set of devices
  std::vector<PlannedStage> stages_;
  Nanos best_ = kNoStep;
};

TEST(Planner, EqualsTheBestOfAllPlansOnRandomDevices) {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    const Profile profile = random_layers(random, 2 + round % 5);
    Task task =
        make_task(profile, random_cluster(random, 2 + round % 3, round % 2 == 1), 1 + round % 7);
    if (round % 5 == 4) task.cluster.shared = {{{0}, {1}, 3'000'000'000}};
    const auto planned = make_plan(task, one_stage_a_device());
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_EQ(planned->plan.step, AllPlans(task, {}).best()) << "round " << round;
    EXPECT_TRUE(planned->exhausted);
    EXPECT_LE(planned->bound, planned->plan.step);
  }
}

TEST(Planner, EqualsTheBestOfAllPlansWithinMemory) {
  std::mt19937 random(5);
  int infeasible = 0, recomputing = 0;
  for (int round = 0; round < 32; ++round) {
    Profile profile = random_layers(random, 3 + round % 3);
    if (round % 2 == 1) {
      for (Layer& layer : profile.layers) layer.weight = layer.backward * 4 / 10;
    }
    Task task = make_task(profile, random_cluster(random, 3, false), 2 + round % 4);
    task.limit_memory = true;
    for (Bytes& memory : task.cluster.memory) {
      memory = number_in(random, 60'000'000, 400'000'000);
    }
    const auto planned = make_plan(task, one_stage_a_device());
    const Nanos best = AllPlans(task, {}).best();
    if (best == kNoStep) {
      ++infeasible;
      ASSERT_FALSE(planned);
      EXPECT_EQ(planned.error().code, ErrorCode::kInfeasible);
      continue;
    }
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_EQ(planned->plan.step, best) << "round " << round;
    for (const PlannedStage& stage : planned->plan.stages) recomputing += stage.recompute;
  }
  EXPECT_GT(recomputing, 0);
  EXPECT_GT(infeasible, 0);
  EXPECT_LT(infeasible, 16);
}

TEST(Planner, SharingDevicesNeverMakesThePlanWorse) {
  // With 24 devices the search finds a plan with shared devices. The best plan without shared
  // devices looks worse than this plan, unless a search for its best order of micro-batches runs
  // first.
  for (const std::int32_t devices : {24, 12, 11}) {
    std::mt19937 random(0);
    const Profile profile = random_layers(random, 16);
    const Task task = make_task(profile, random_cluster(random, devices, false), 16);
    const auto several = make_plan(task, {}), one = make_plan(task, one_stage_a_device());
    ASSERT_TRUE(several && one);
    EXPECT_LE(several->plan.step, one->plan.step) << devices << " devices";
    EXPECT_EQ(several->one_stage_bound, one->bound);
  }
}

TEST(Planner, LimitsThatDoNotBindChangeNothing) {
  std::mt19937 random(3);
  const Profile profile = random_layers(random, 16);
  Task task = make_task(profile, random_cluster(random, 12, true), 8);
  const auto free = make_plan(task, {});
  task.limit_memory = true;
  task.cluster.memory.assign(12, Bytes{1} << 50);
  const auto limited = make_plan(task, {});
  ASSERT_TRUE(free && limited);
  EXPECT_EQ(limited->plan.step, free->plan.step);
  EXPECT_EQ(limited->plan.stages, free->plan.stages);
  EXPECT_EQ(limited->bound, free->bound);
}

TEST(Evaluator, PrunedPlansCountAsEffortWithinMemory) {
  std::mt19937 random(4);
  Task task = make_task(random_layers(random, 6), random_cluster(random, 2, false), 4);
  const std::vector<PlannedStage> stages{{0, 3, {0}, false}, {3, 6, {1}, false}};
  const auto effort = [&](const Task& of, Nanos limit) {
    Evaluator evaluator(of, {});
    for (int again = 0; again < 3; ++again) (void)evaluator.evaluate(stages, limit);
    return evaluator.ops();
  };
  Task limited = task;
  limited.limit_memory = true;
  for (const Nanos limit : {Nanos{1}, kNoStep}) {
    // First there is enough memory for every plan, then too little for any stage.
    limited.cluster.memory.assign(2, Bytes{1} << 50);
    EXPECT_EQ(effort(limited, limit), effort(task, limit));
    limited.cluster.memory.assign(2, 1);
    EXPECT_GE(effort(limited, limit), effort(task, Nanos{1}));
  }
}

TEST(Evaluator, TriesNoMoreChoicesOfRecomputationOnceTheEffortIsSpent) {
  std::mt19937 random(14);
  Task task = make_task(random_layers(random, 24), random_cluster(random, 6, false), 8);
  task.limit_memory = true;
  std::vector<PlannedStage> stages;
  for (std::int32_t d = 0; d < 6; ++d) stages.push_back({4 * d, 4 * d + 4, {d}, false});
  Bytes most = 0;
  for (const Bytes state : static_memory(task, stages)) most = std::max(most, state);
  task.cluster.memory.assign(6, most + task.chain.stash.back() / 3);
  Evaluator all(task, {}), few(task, {});
  few.stop_at(0);
  const auto best = all.evaluate(stages), first = few.evaluate(stages);
  ASSERT_TRUE(best && first);
  EXPECT_LE(best->step, first->step);
  EXPECT_LT(2 * few.ops(), all.ops());
}

TEST(Planner, EqualsTheBestOfAllPlansWhoseStagesShareDevices) {
  std::mt19937 random(13);
  int shared = 0;
  for (int round = 0; round < 24; ++round) {
    const Profile profile = random_layers(random, 4 + round % 3);
    const std::int32_t devices = 2 + round % 2;
    const Cluster cluster = round % 3 == 0 ? uniform_cluster(devices, 40'000'000'000)
                                           : random_cluster(random, devices, round % 4 == 1);
    const Task task = make_task(profile, cluster, 1 + round % 5);
    PlannerOptions options;
    options.chunks = 2;
    const auto planned = make_plan(task, options);
    ASSERT_TRUE(planned) << planned.error().text();
    const Nanos best = AllPlans(task, {}, 2).best(), plain = AllPlans(task, {}).best();
    EXPECT_LE(planned->bound, best);
    EXPECT_LE(planned->one_stage_bound, plain);
    EXPECT_LE(planned->plan.step, plain);
    EXPECT_EQ(planned->plan.step, best) << "round " << round;
    shared += best < plain;
  }
  EXPECT_GE(shared, 5);
}

TEST(Planner, SaysWhyNothingFits) {
  std::mt19937 random(5);
  Task task = make_task(random_layers(random, 12), uniform_cluster(2, 1'000'000'000), 2);
  task.limit_memory = true;
  task.cluster.memory.assign(2, 1'000'000);
  const auto small = make_plan(task, {});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().message.find("no plan fits into the memory of the devices: layer"), 0u)
      << small.error().message;
  const Bytes state = task.state_factor * task.chain.parameters.back();
  task.cluster.memory.assign(2, state * 45 / 100);
  const auto all = make_plan(task, {});
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("all devices together have"), std::string::npos)
      << all.error().message;
}

TEST(Planner, EqualDevicesNeedOneOrderOnly) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    const Profile profile = random_layers(random, 4);
    const Task task = make_task(profile, uniform_cluster(3, 8'000'000'000, 2000), 1 + round);
    const auto planned = make_plan(task, one_stage_a_device());
    ASSERT_TRUE(planned);
    EXPECT_EQ(planned->plan.step, AllPlans(task, {}).best());
  }
}

/// The reference values come from simulating every possible split.
TEST(Planner, FourStagesOfVgg19EqualBruteForce) {
  if (!fs::exists(kShared)) GTEST_SKIP() << "the shared profiles are not beside this checkout";
  const auto profile = read_profile((kShared / "AlibabaPAI_DAPPLE" / "vgg-19-pbs-32.txt").string());
  ASSERT_TRUE(profile) << profile.error().text();
  struct Anchor {
    std::int64_t bandwidth;
    Micro micro_batches;
    double ms;
  };
  for (const Anchor& anchor : {Anchor{12'500'000'000, 4, 286.51},
                               {12'500'000'000, 8, 489.60},
                               {12'500'000'000, 16, 849.72},
                               {1'250'000'000, 4, 436.54},
                               {1'250'000'000, 8, 825.74},
                               {1'250'000'000, 16, 1543.32}}) {
    const Task task =
        make_task(*profile, uniform_cluster(4, anchor.bandwidth), anchor.micro_batches);
    PlannerOptions options;
    options.stages = 4;
    options.replicas = 1;
    options.schedules = {"1f1b"};
    const auto planned = make_plan(task, options);
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_NEAR(static_cast<double>(planned->plan.step) * 1e-6, anchor.ms, 0.006);
    EXPECT_TRUE(planned->exhausted);
    const auto free = make_plan(task, {});
    ASSERT_TRUE(free);
    EXPECT_LE(free->plan.step, planned->plan.step);
  }
}

TEST(Planner, IsNeverWorseThanRivals) {
  std::mt19937 random(23);
  for (const std::int32_t devices : {5, 8, 12, 20}) {
    for (int round = 0; round < 3; ++round) {
      const Profile profile = random_layers(random, 12);
      const Task task = make_task(profile, random_cluster(random, devices, round == 2), 8);
      PlannerOptions options;
      options.ops = 200'000;
      const auto planned = make_plan(task, options);
      ASSERT_TRUE(planned) << planned.error().text();
      for (const std::string& name : rivals()) {
        const auto rival = rival_plan(task, name);
        if (name == "dualpipe-v" && !rival) continue;  // too few micro-batches
        ASSERT_TRUE(rival) << name << ": " << rival.error().text();
        EXPECT_LE(planned->plan.step, rival->step) << name << ", " << devices << " devices";
      }
      EXPECT_LE(planned->bound, planned->plan.step);
    }
  }
}

TEST(Planner, IsNeverWorseThanRivalsWithinTightMemory) {
  int compared = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Profile profile = random_layers(random, 32);
    for (Layer& layer : profile.layers) layer.stash *= number_in(random, 1, 40);
    Task task = make_task(profile, uniform_cluster(16, 50'000'000'000), 8);
    task.limit_memory = true;
    const Bytes state = task.state_factor * task.chain.parameters.back();
    const Bytes largest = *std::max_element(task.chain.stash.begin(), task.chain.stash.end());
    task.cluster.memory.assign(16, (state + largest) / 8);
    const auto planned = make_plan(task, {});
    ASSERT_TRUE(planned) << planned.error().message;
    for (const std::string& name : rivals()) {
      const auto rival = rival_plan(task, name);
      if (!rival) continue;
      EXPECT_LE(planned->plan.step, rival->step) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 8);
}

TEST(Planner, ProvesTheBestPlanOfNineUnequalDevices) {
  std::mt19937 random(31);
  const Profile profile = random_layers(random, 8);
  const Task task = make_task(profile, random_cluster(random, 9, true), 6);
  const auto planned = make_plan(task, one_stage_a_device());
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_TRUE(planned->exhausted);
  EXPECT_GE(planned->bound, planned->plan.step * 99 / 100);
}

TEST(Planner, RefusesMoreStagesThanThereAreLayersOrDevices) {
  std::mt19937 random(1);
  const Task task = make_task(random_layers(random, 3), uniform_cluster(8, 1'000'000'000), 2);
  PlannerOptions options;
  options.stages = 4;
  const auto planned = make_plan(task, options);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(planned.error().message, "4 stages are more than the 3 layers");
}

TEST(Bottleneck, HasTheLeastPossibleSlowestStage) {
  std::mt19937 random(9);
  const Profile profile = random_layers(random, 6);
  const Task task = make_task(profile, uniform_cluster(3, 1'000'000'000'000), 1);
  const GroupGraph graph = ordered_groups(task.cluster, {0, 1, 2}, {1, 1, 0});
  const auto plans = bottleneck_plans(task, graph, 3);
  ASSERT_EQ(plans.size(), 3u);
  const auto slowest = [&](const std::vector<std::int32_t>& cuts) {
    Nanos worst = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      worst = std::max(worst, task.chain.forward[cuts[i + 1]] - task.chain.forward[cuts[i]] +
                                  task.chain.backward[cuts[i + 1]] - task.chain.backward[cuts[i]]);
    }
    return worst;
  };
  Nanos best = kNoStep;
  for (std::int32_t a = 1; a < 5; ++a) {
    for (std::int32_t b = a + 1; b < 6; ++b) best = std::min(best, slowest({0, a, b, 6}));
  }
  EXPECT_EQ(slowest({0, plans[2][0].last, plans[2][1].last, 6}), best);
}

TEST(DeviceOrders, KeepHostsTogether) {
  // Two hosts with two devices each; devices 0 and 2 are on one host, 1 and 3 on the other.
  Cluster cluster = uniform_cluster(4, 1'000'000'000);
  for (const auto& [a, b] : {std::pair{0, 2}, {2, 0}, {1, 3}, {3, 1}}) {
    cluster.bandwidth[a * 4 + b] = 50'000'000'000;
  }
  for (const auto& order : {recursive_order(cluster), joined_order(cluster)}) {
    ASSERT_EQ(order.size(), 4u);
    EXPECT_EQ(order[0] % 2, order[1] % 2);
    EXPECT_EQ(order[2] % 2, order[3] % 2);
  }
}

TEST(Lookahead, IsALowerBoundOfAllPlans) {
  std::mt19937 random(17);
  for (int round = 0; round < 20; ++round) {
    const Profile profile = random_layers(random, 5);
    const Task task = make_task(profile, random_cluster(random, 3, true), 1 + round % 6);
    const Nanos best = AllPlans(task, {}).best();
    EXPECT_LE(Lookahead(task, set_groups(task.cluster, {}), 0).least(), best);
    EXPECT_LE(Lookahead(task, ideal_groups(task.cluster, {}), 0).least(), best);
  }
}

TEST(Lookahead, IsALowerBoundOfAllPlansWithinMemory) {
  std::mt19937 random(18);
  int higher = 0;
  for (int round = 0; round < 40; ++round) {
    Task task = tight_task(random, 4, 3, 1 + 0.1 * (round % 8));
    task.micro_batches = 1 + round % 6;
    const Nanos best = AllPlans(task, {}).best();
    const GroupGraph all = set_groups(task.cluster, {});
    const Nanos least = Lookahead(task, all, 0).least();
    EXPECT_LE(least, best);
    EXPECT_LE(Lookahead(task, ideal_groups(task.cluster, {}), 0).least(), best);
    task.limit_memory = false;
    if (best < kNoStep && least > Lookahead(task, all, 0).least()) ++higher;
  }
  EXPECT_GT(higher, 10);
}

TEST(Lookahead, CountsThatMicroBatchesPassOneByOneIfOnlyOneFits) {
  Profile profile;
  for (int i = 0; i < 4; ++i) {
    Layer layer;
    layer.id = layer.name = std::to_string(i);
    layer.forward = 1'000'000;
    layer.backward = 2'000'000;
    layer.parameters = 1'000'000;
    layer.stash = 8'000'000;
    profile.layers.push_back(layer);
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  Task task = make_task(profile, uniform_cluster(4, 50'000'000'000), 8);
  task.limit_memory = true;
  // A device has room for the state and one micro-batch, but not for recomputation.
  task.cluster.memory.assign(4, 4'000'000 + 8'000'000);
  for (Layer& layer : profile.layers) layer.activation = 1'000'000;
  task.chain = layer_chain(profile);
  const auto planned = make_plan(task, one_stage_a_device());
  ASSERT_TRUE(planned) << planned.error().message;
  // Only the first stage may hold several micro-batches: its input takes no memory, so
  // recomputation costs no memory there.
  EXPECT_GE(planned->plan.step, 8 * 3 * 3'000'000);
  EXPECT_EQ(planned->bound, planned->plan.step);
}

TEST(LayerChain, CutsCarryAllOutputsThatAreReadBehindThem) {
  Profile profile;
  for (int i = 0; i < 4; ++i) {
    Layer layer;
    layer.id = std::to_string(i);
    layer.activation = Bytes{1} << i;
    profile.layers.push_back(layer);
  }
  profile.edges = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  EXPECT_EQ(layer_chain(profile).cut, (std::vector<Bytes>{0, 1, 3, 5, 0}));
}

}  // namespace
}  // namespace weft::pipeline
