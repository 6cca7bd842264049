// SPDX-License-Identifier: Apache-2.0
// Compares pipeline plans with those of other planners and with exhaustive search, and measures how
// long planning takes. Bars:
//   * On PipeDream's own graphs, Weft computes the same values as PipeDream, within 1e-6 s, in at
//     most 1/50 of PipeDream's time (measured on a machine with two cores).
//   * vgg-19 in four stages: Weft's plan is as good as the best of all splits.
//   * Other clusters: no plan has a longer step than SPP's plan with SPP's own order of the
//     devices.
//   * Up to eight devices: no plan has a longer step than SPP's plan with the best of all orders of
//     the devices.
//   * Speed: 64 layers on 16 devices in 100 ms; 1,000 layers on 1,024 devices in 60 s and 2 GB.
// Times are processor times, because the machine may be busy. Exit status: 0 if the bars hold,
// else 1.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/rivals/bottleneck.h"
#include "weft/pipeline/rivals/device_orders.h"
#include "weft/pipeline/rivals/pipedream.h"
#include "weft/pipeline/rivals/rivals.h"

namespace {

using namespace weft::pipeline;
namespace fs = std::filesystem;

const fs::path kShared = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines";

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double ms(weft::Nanos time) { return static_cast<double>(time) * 1e-6; }

/// Ends each line of the report with its verdict and remembers whether all bars held.
struct Bars {
  bool held = true;
  void line(bool good) {
    std::printf("%s\n", good ? "" : "   MISSED");
    held &= good;
  }
};

struct Anchor {
  const char* graph;
  double value[4], seconds[4];  ///< PipeDream's; value 0: it did not finish within 300 s
};

constexpr Anchor kAnchors[] = {
    {"image_classification/vgg16", {0.205521, 0.103833, 0.054795, 0.067242}, {0.2, 0.2, 0.3, 0.2}},
    {"image_classification/alexnet",
     {0.034217, 0.018874, 0.015099, 0.015099},
     {0.1, 0.2, 0.2, 0.2}},
    {"image_classification/resnet18",
     {0.100004, 0.050783, 0.024425, 0.023493},
     {0.4, 0.6, 1.6, 3.1}},
    {"image_classification/resnet50",
     {0.162881, 0.092012, 0.043848, 0.043221},
     {0.6, 3, 5.1, 50.6}},
    {"image_classification/resnext50", {0.201407, 0.10276, 0.052789, 0.0522}, {4.1, 4.5, 6.3, 86}},
    {"image_classification/densenet121", {0.089976, 0.047118, 0.023549, 0}, {2.8, 10.5, 32, 300}},
    {"translation/gnmt", {0.025868, 0.019285, 0.017125, 0.012024}, {0.5, 0.5, 2, 3.2}}};

void pipedream(Bars& bars) {
  const std::vector<PipedreamLevel> machines[4] = {{{4, 1'000'000'000}},
                                                   {{8, 1'000'000'000}},
                                                   {{16, 1'250'000'000}},
                                                   {{4, 8'000'000'000}, {4, 1'250'000'000}}};
  const char* names[4] = {"4", "8", "16", "4x4"};
  std::printf("\n%-34s %7s %12s %12s %10s %12s\n", "PipeDream's model", "devices", "its value s",
              "ours s", "ours ms", "1/50 of its");
  for (const Anchor& anchor : kAnchors) {
    const auto profile =
        read_profile((kShared / "msr-fiddle_pipedream" / anchor.graph / "graph.txt").string());
    if (!profile) continue;
    for (int i = 0; i < 4; ++i) {
      const double begin = now_ms();
      const auto answer = solve_pipedream(*profile, machines[i]);
      const double took = now_ms() - begin;
      const double value = answer ? ms(answer->bottleneck) * 1e-3 : 0;
      std::printf("%-34s %7s %12.6f %12.6f %10.3f %12.1f", anchor.graph, names[i], anchor.value[i],
                  value, took, anchor.seconds[i] * 20);
      const bool same = anchor.value[i] == 0 || std::abs(value - anchor.value[i]) <= 1e-6;
      bars.line(answer && same && took <= anchor.seconds[i] * 20);
    }
  }
}

/// A graph with the shape of Inception v3 and its auxiliary head. Its branches can be cut in many
/// ways. Times and sizes are random.
class InceptionShape {
 public:
  Profile made() {
    std::int32_t at = convolutions(pool(convolutions(pool(convolutions(add(), 3)), 2)), 0);
    for (int i = 0; i < 3; ++i) at = branches(at, {1, 2, 3}, true);
    at = branches(at, {1, 3}, false);
    for (int i = 0; i < 4; ++i) at = branches(at, {1, 3, 5}, true);
    const std::int32_t second_head = convolutions(pool(at), 2);
    at = branches(at, {2, 4}, false);
    for (int i = 0; i < 2; ++i) {
      const std::int32_t left = convolutions(at, 1), right = convolutions(at, 2);
      at = joined({convolutions(at, 1), convolutions(left, 1), convolutions(left, 1),
                   convolutions(right, 1), convolutions(right, 1), convolutions(pool(at), 1)});
    }
    joined({pool(at), second_head});
    profile_.name = "the shape of Inception v3";
    return std::move(profile_);
  }

 private:
  std::int32_t add() {
    Layer layer;
    const auto number = static_cast<std::int32_t>(profile_.layers.size());
    layer.id = layer.name = std::to_string(number);
    layer.forward = 100'000 + random_() % 3'000'000;
    layer.backward = 2 * layer.forward;
    layer.activation = 1'000'000 + random_() % 20'000'000;
    layer.parameters = random_() % 1'000'000;
    profile_.layers.push_back(layer);
    return number;
  }
  std::int32_t joined(const std::vector<std::int32_t>& before) {
    const std::int32_t next = add();
    for (const std::int32_t from : before) profile_.edges.push_back({from, next});
    return next;
  }
  std::int32_t pool(std::int32_t from) { return joined({from}); }
  /// Appends `count` convolutions after layer `at`. Each is followed by a normalization and an
  /// activation.
  std::int32_t convolutions(std::int32_t at, int count) {
    for (int i = 0; i < 3 * count; ++i) at = joined({at});
    return at;
  }
  std::int32_t branches(std::int32_t from, const std::vector<int>& lengths, bool pool_first) {
    std::vector<std::int32_t> ends{convolutions(pool(from), pool_first ? 1 : 0)};
    for (const int length : lengths) ends.push_back(convolutions(from, length));
    return joined(ends);
  }

  std::mt19937 random_{1};
  Profile profile_;
};

/// Plans a graph that can be cut in too many ways for PipeDream, and for any method that stores a
/// table over pairs of cuts.
void pipedream_branches(Bars& bars) {
  const Profile profile = InceptionShape().made();
  for (const std::int32_t machines : {4, 16}) {
    const double begin = now_ms();
    const auto answer = solve_pipedream(profile, {{machines, 1'000'000'000}});
    std::printf("%s, %zu ways to cut, %d devices: %.6f s, in %.0f ms", profile.name.c_str(),
                answer ? answer->states : 0, machines, answer ? ms(answer->bottleneck) * 1e-3 : 0.0,
                now_ms() - begin);
    bars.line(answer.has_value());
  }
}

Task task_of(const Profile& profile, Cluster cluster, Micro micro_batches) {
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = std::move(cluster);
  task.micro_batches = micro_batches;
  return task;
}

/// The best step over all splits into stages with one device each, under 1F1B.
weft::Nanos all_splits(const Task& task, std::int32_t stages) {
  Evaluator evaluator(task, {"1f1b"});
  weft::Nanos best = kNoStep;
  std::vector<PlannedStage> plan;
  const auto go = [&](auto&& self, std::int32_t first, std::int32_t number) -> void {
    if (number == stages) {
      if (first != task.chain.size()) return;
      if (const auto result = evaluator.evaluate(plan)) best = std::min(best, result->step);
      return;
    }
    for (std::int32_t last = first + 1; last <= task.chain.size(); ++last) {
      plan.push_back({first, last, {number}, false});
      self(self, last, number + 1);
      plan.pop_back();
    }
  };
  go(go, 0, 0);
  return best;
}

void splits(Bars& bars) {
  std::printf("\n%-34s %6s %6s %12s %12s %12s %10s\n", "splits, 1F1B, no replicas", "GB/s", "M",
              "all splits", "planned ms", "free plan", "plan ms");
  for (const char* name : {"vgg-19-pbs-32", "bert-24-pbs-6", "amoeba-18-pbs-8"}) {
    const auto profile =
        read_profile((kShared / "AlibabaPAI_DAPPLE" / (std::string(name) + ".txt")).string());
    if (!profile) continue;
    for (const std::int64_t bandwidth : {12'500'000'000L, 1'250'000'000L}) {
      for (const Micro micro_batches : {4, 8, 16}) {
        const Task task = task_of(*profile, uniform_cluster(4, bandwidth), micro_batches);
        PlannerOptions options;
        options.stages = 4;
        options.replicas = 1;
        options.schedules = {"1f1b"};
        const double begin = now_ms();
        const auto planned = make_plan(task, options);
        const double took = now_ms() - begin;
        const auto free = make_plan(task, {});
        const weft::Nanos best = all_splits(task, 4);
        std::printf("%-34s %6.2f %6d %12.3f %12.3f %12.3f %10.3f", name,
                    static_cast<double>(bandwidth) * 1e-9, micro_batches, ms(best),
                    planned ? ms(planned->plan.step) : 0, free ? ms(free->plan.step) : 0, took);
        bars.line(planned && planned->plan.step == best);
      }
    }
  }
}

/// The shortest step of all plans that SPP makes with any order of the devices, simulated with all
/// schedules.
weft::Nanos all_orders(const Task& task) {
  Evaluator evaluator(task, plan_schedules());
  std::vector<std::int32_t> order(task.cluster.devices);
  std::iota(order.begin(), order.end(), 0);
  weft::Nanos best = kNoStep;
  do {
    const GroupGraph graph = ordered_groups(task.cluster, order, {});
    const std::int32_t most = std::min(task.chain.size(), task.cluster.devices);
    for (const auto& plan : bottleneck_plans(task, graph, most)) {
      if (const auto result = evaluator.evaluate(plan)) best = std::min(best, result->step);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Sums of the gaps to the lower bound over one kind of cluster, in per cent.
struct Gaps {
  double one_stage = 0, all = 0;
  int count = 0;
};

/// Prints one line of the table: compares plans with one stage per device, and plans whose stages
/// share devices, with SPP's plans. With `orders`, SPP's plans with all orders of the devices are
/// used.
void links(Bars& bars, Gaps& gaps, const std::string& name, const Task& task, bool orders) {
  PlannerOptions one_stage;
  one_stage.chunks = 1;
  const double begin = now_ms();
  const auto planned = make_plan(task, one_stage);
  const double middle = now_ms();
  const auto shared = make_plan(task, {});
  const double end = now_ms();
  const auto spp = rival_plan(task, "spp");
  if (!planned || !shared || !spp) return bars.line(false);
  const weft::Nanos exhaustive = orders ? all_orders(task) : kNoStep;
  const auto gap = [](const Planned& of) { return 100 * (1 - ms(of.bound) / ms(of.plan.step)); };
  std::printf("%-36s %9.3f %9.3f %6.1f%% ", name.c_str(), ms(planned->plan.step), ms(spp->step),
              100 * (ms(spp->step) / ms(planned->plan.step) - 1));
  if (orders)
    std::printf("%10.3f ", ms(exhaustive));
  else
    std::printf("%10s ", "-");
  std::printf("%7.2f%% %8.1f %10.3f %7.2f%% %8.1f", gap(*planned), middle - begin,
              ms(shared->plan.step), gap(*shared), end - middle);
  gaps.one_stage += gap(*planned);
  gaps.all += gap(*shared);
  ++gaps.count;
  const bool exact = task.cluster.devices > 8 || planned->exhausted;
  bars.line(exact && planned->plan.step <= spp->step && planned->plan.step <= exhaustive &&
            shared->plan.step <= planned->plan.step);
}

void print(const char* name, const Gaps& gaps) {
  if (gaps.count == 0) return;
  std::printf("%-36s mean gap %.2f%% with one stage per device, %.2f%% with several\n", name,
              gaps.one_stage / gaps.count, gaps.all / gaps.count);
}

void clusters(Bars& bars) {
  std::printf("\n%-36s %9s %9s %7s %10s %8s %8s %10s %8s %8s\n", "links", "ours ms", "SPP ms",
              "SPP", "all orders", "gap", "plan ms", "several", "gap", "plan ms");
  Gaps few, many, known;
  for (const std::int32_t devices : {4, 6, 7, 8, 12, 16, 24, 32, 48, 64}) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      std::mt19937 random(seed);
      const Profile profile = random_layers(random, 16 + 8 * static_cast<std::int32_t>(seed));
      const Task task = task_of(profile, random_cluster(random, devices, seed == 2), 16);
      links(bars, devices <= 8 ? few : many,
            "random, " + std::to_string(devices) + " devices, seed " + std::to_string(seed), task,
            devices <= 8);
    }
  }
  for (const char* cluster :
       {"dgx1-v100", "pcie-tree-8", "2x-dgx1-100Gb", "4x8-h100-400Gb", "mixed-3-hosts"}) {
    for (const char* model :
         {"vgg-19-pbs-32", "bert-24-pbs-6", "xlnet-24-pbs-1", "gnmt-16-pbs-64"}) {
      const auto opened = open_cluster((kShared / "clusters.json").string() + "#" + cluster);
      const auto profile =
          read_profile((kShared / "AlibabaPAI_DAPPLE" / (std::string(model) + ".txt")).string());
      if (!opened || !profile) continue;
      const Task task = task_of(*profile, *opened, 16);
      links(bars, known, std::string(cluster) + ", " + model, task,
            opened->devices <= 8 && task.chain.size() <= 32);
    }
  }
  print("random links, up to 8 devices", few);
  print("random links, 12 to 64 devices", many);
  print("clusters.json", known);
}

void speed(Bars& bars) {
  std::printf("\n%-40s %10s %10s %10s\n", "planning", "ms", "bar ms", "peak MB");
  const auto one = [&](const char* name, const Task& task, double bar) {
    const double begin = now_ms();
    const auto planned = make_plan(task, {});
    const double took = now_ms() - begin;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%-40s %10.1f %10.0f %10ld", name, took, bar, usage.ru_maxrss / 1024);
    bars.line(planned && took <= bar && usage.ru_maxrss <= 2'000'000);
  };
  for (unsigned seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    const Profile profile = random_layers(random, 64);
    one("64 layers, 16 devices, random links",
        task_of(profile, random_cluster(random, 16, seed == 2), 32), 100);
    one("64 layers, 2 hosts of 8 devices",
        task_of(profile, *describe_cluster("8x A100, 2 hosts, 100Gb"), 64), 100);
  }
  std::mt19937 random(7);
  const Profile profile = random_layers(random, 1000);
  one("1000 layers, 128 hosts of 8 devices",
      task_of(profile, *describe_cluster("8x H100, 128 hosts, 400Gb"), 256), 60'000);
  one("1000 layers, 1024 devices, random links",
      task_of(profile, random_cluster(random, 1024, false), 256), 60'000);
}

}  // namespace

/// Arguments select parts: pipedream, splits, clusters, speed. Without arguments all parts run.
int main(int argc, char** argv) {
  const auto wanted = [&](const std::string& part) {
    return argc < 2 || std::find(argv + 1, argv + argc, part) != argv + argc;
  };
  Bars bars;
  if (!fs::exists(kShared)) {
    std::printf("skipped: there are no profiles and clusters in ../shared/pipelines\n");
  } else {
    if (wanted("pipedream")) {
      pipedream(bars);
      pipedream_branches(bars);
    }
    if (wanted("splits")) splits(bars);
  }
  if (wanted("clusters")) clusters(bars);
  if (wanted("speed")) speed(bars);
  return bars.held ? 0 : 1;
}
