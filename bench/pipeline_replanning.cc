// SPDX-License-Identifier: Apache-2.0
// Measures how long it takes to replan 64 layers on 16 devices, over all combinations of profiles,
// clusters, numbers of micro-batches and memory limits. Bars: 100 ms per planning, and no plan
// worse than SPP's. Times are processor times. If the first measurement of an input is above the
// bar, the shortest of three measurements counts, because the machine may be busy.
//   pipeline_replanning [every=N] [only=TEXT] [list=FILE]
// every=N takes each N-th input. only=TEXT takes the inputs whose names contain TEXT. list=FILE
// writes one line per input (name, ms, step, bound, schedule, stages), so that two builds can be
// compared. Exit status: 0 if the bars hold, else 1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/rivals/rivals.h"

namespace {

using namespace weft::pipeline;
namespace fs = std::filesystem;

constexpr std::int32_t kLayers = 64, kDevices = 16;
constexpr double kBar = 100;  ///< milliseconds
const fs::path kShared = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines";

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

template <class T>
struct Named {
  std::string name;
  T value;
};

Profile chain_of(std::vector<Layer> layers) {
  Profile profile;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].id = layers[i].name = std::to_string(i);
    const auto at = static_cast<std::int32_t>(i);
    if (i > 0) profile.edges.push_back({at - 1, at});
  }
  profile.layers = std::move(layers);
  return profile;
}

/// Turns a profile into a chain of 64 layers. While there are too few layers, it halves the longest
/// one. While there are too many, it merges the two neighbours that take the least time together.
/// The output of a layer has the size of everything that a cut after this layer would send in the
/// original graph.
Profile with_64_layers(const Profile& real) {
  const LayerChain chain = layer_chain(real);
  std::vector<Layer> layers;
  for (std::int32_t i = 0; i < chain.size(); ++i) {
    Layer layer = real.layers[chain.order[i]];
    layer.activation = chain.cut[i + 1];
    layers.push_back(layer);
  }
  const auto time = [](const Layer& layer) { return layer.forward + layer.backward; };
  while (layers.size() < kLayers) {
    const auto longest =
        std::max_element(layers.begin(), layers.end(),
                         [&](const Layer& a, const Layer& b) { return time(a) < time(b); });
    Layer half = *longest;
    for (auto* part : {&half.forward, &half.backward, &half.weight}) *part /= 2;
    for (auto* part : {&half.parameters, &half.stash}) *part /= 2;
    *longest = half;
    layers.insert(longest, half);
  }
  while (layers.size() > kLayers) {
    std::size_t first = 0;
    for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
      if (time(layers[i]) + time(layers[i + 1]) < time(layers[first]) + time(layers[first + 1])) {
        first = i;
      }
    }
    Layer& joined = layers[first + 1];
    const Layer& other = layers[first];
    joined.forward += other.forward;
    joined.backward += other.backward;
    joined.weight += other.weight;
    joined.parameters += other.parameters;
    joined.stash += other.stash;
    layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return chain_of(std::move(layers));
}

/// Random layers, each modified by `change`.
Profile changed(unsigned seed, const std::function<void(Layer&, std::mt19937&)>& change) {
  std::mt19937 random(seed);
  Profile profile = random_layers(random, kLayers);
  for (Layer& layer : profile.layers) change(layer, random);
  return profile;
}

/// A transformer: equal blocks between a light embedding and a heavy head.
Profile transformer() {
  std::vector<Layer> layers(kLayers);
  for (Layer& layer : layers) {
    layer.forward = 2'000'000;
    layer.backward = 4'000'000;
    layer.weight = 1'900'000;
    layer.activation = 16'777'216;
    layer.stash = 8 * layer.activation;
    layer.parameters = 50'000'000;
  }
  layers.front().forward = layers.front().backward = 200'000;
  layers.front().weight = 0;
  layers.front().parameters = layers.back().parameters = 400'000'000;
  layers.back().forward = 3'500'000;
  layers.back().backward = 7'000'000;
  return chain_of(std::move(layers));
}

std::vector<Named<Profile>> profiles() {
  const auto weights = [](Layer& layer, std::mt19937& random) {
    layer.weight = layer.backward * number_in(random, 20, 60) / 100;
  };
  const auto stash = [](Layer& layer, std::mt19937& random) {
    layer.stash = layer.activation * number_in(random, 1, 12);
  };
  std::vector<Named<Profile>> all;
  all.push_back({"random", changed(1, [](Layer&, std::mt19937&) {})});
  all.push_back({"weights", changed(2, weights)});
  all.push_back({"stash", changed(3, stash)});
  all.push_back({"weights+stash", changed(4, [&](Layer& layer, std::mt19937& random) {
                   weights(layer, random);
                   stash(layer, random);
                 })});
  all.push_back({"few heavy", changed(5, [&](Layer& layer, std::mt19937& random) {
                   if (number_in(random, 0, 9) > 0) {
                     layer.forward /= 8;
                     layer.backward /= 8;
                   }
                   weights(layer, random);
                 })});
  all.push_back({"large messages", changed(6, [](Layer& layer, std::mt19937&) {
                   layer.activation *= 10;
                   layer.stash = layer.activation;
                 })});
  all.push_back({"transformer", transformer()});
  for (const char* file :
       {"AlibabaPAI_DAPPLE/bert-24-pbs-6.txt", "AlibabaPAI_DAPPLE/gnmt-16-pbs-64.txt",
        "AlibabaPAI_DAPPLE/amoeba-18-pbs-8.txt",
        "msr-fiddle_pipedream/image_classification/vgg16/graph.txt",
        "msr-fiddle_pipedream/image_classification/resnet50/graph.txt",
        "msr-fiddle_pipedream/image_classification/densenet121/graph.txt"}) {
    const auto profile = read_profile((kShared / file).string());
    const fs::path path(file);
    const bool graph = path.filename() == "graph.txt";
    if (profile) {
      all.push_back({(graph ? path.parent_path().filename() : path.stem()).string(),
                     with_64_layers(*profile)});
    }
  }
  return all;
}

/// A four-by-four grid of devices with links between neighbours only.
Cluster grid() {
  Cluster cluster = uniform_cluster(kDevices, 0);
  for (std::int32_t i = 0; i < kDevices; ++i) {
    for (std::int32_t j = 0; j < kDevices; ++j) {
      const std::int32_t far = std::abs(i % 4 - j % 4) + std::abs(i / 4 - j / 4);
      if (far == 1) cluster.bandwidth[static_cast<std::size_t>(i) * kDevices + j] = 25'000'000'000;
    }
  }
  return cluster;
}

std::vector<Named<Cluster>> clusters() {
  std::vector<Named<Cluster>> all;
  for (const char* words :
       {"2x V100, 8 hosts, 25Gb", "4x A100, 4 hosts, 100Gb", "8x A100, 2 hosts, 100Gb",
        "4x H100, 4 hosts, 10Gb", "1x H100, 16 hosts, 400Gb"}) {
    all.push_back({words, *describe_cluster(words)});
  }
  Cluster unequal = *describe_cluster("4x A100, 4 hosts, 25Gb");
  for (std::int32_t i = 0; i < kDevices; ++i) unequal.speed[i] = 1 - 0.2 * (i / 4);
  all.push_back({"4x A100, 4 hosts, 25Gb, unequal speeds", unequal});
  std::mt19937 random(11);
  all.push_back({"random links", random_cluster(random, kDevices, false)});
  all.push_back({"random links and speeds", random_cluster(random, kDevices, true)});
  Cluster late = random_cluster(random, kDevices, true);
  for (weft::Nanos& latency : late.latency) latency = number_in(random, 1'000, 500'000);
  all.push_back({"random links, latencies and speeds", late});
  all.push_back({"grid", grid()});
  if (auto known = open_cluster((kShared / "clusters.json").string() + "#2x-dgx1-100Gb")) {
    all.push_back({"2x-dgx1-100Gb", std::move(*known)});
  }
  return all;
}

/// A memory limit. An even share is the total of the model divided by the number of devices. A
/// device gets `state` times an even share of the parameter state, plus `kept` times an even share
/// of the activations of one micro-batch.
struct Memory {
  const char* name;
  double state = 0, kept = 0;
};
constexpr Memory kMemories[] = {
    {"no limits", 0, 0}, {"loose", 4, 40}, {"tight", 1.6, 10}, {"very tight", 1.25, 2.5}};

Task task_of(const Profile& profile, const Cluster& cluster, Micro micro_batches,
             const Memory& memory) {
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = cluster;
  task.micro_batches = micro_batches;
  if (memory.state == 0) return task;
  task.limit_memory = true;
  const double state =
      static_cast<double>(task.state_factor) * static_cast<double>(task.chain.parameters.back());
  const auto kept = static_cast<double>(task.chain.stash.back());
  task.cluster.memory.assign(
      kDevices, static_cast<weft::Bytes>((memory.state * state + memory.kept * kept) / kDevices));
  return task;
}

struct Line {
  std::string name;
  double ms;
};

class Bench {
 public:
  explicit Bench(std::FILE* list) : list_(list) {}

  void plan(const std::string& name, const Task& task) {
    double took = 0;
    weft::Result<Planned> planned = timed(task, took);
    for (int again = 0; again < 2 && took > kBar; ++again) {
      double once = 0;
      planned = timed(task, once);
      took = std::min(took, once);
    }
    lines_.push_back({name, took});
    const weft::Nanos step = planned ? planned->plan.step : 0;
    const weft::Nanos bound = planned ? planned->bound : 0;
    if (!planned) ++infeasible_;
    if (list_) {
      std::fprintf(list_, "%s\t%.1f\t%lld\t%lld\t%s\t%zu\n", name.c_str(), took,
                   static_cast<long long>(step), static_cast<long long>(bound),
                   planned ? planned->plan.schedule.c_str() : "none",
                   planned ? planned->plan.stages.size() : 0);
      std::fflush(list_);
    }
    const auto spp = rival_plan(task, "spp");
    if (spp && (!planned || step > spp->step)) {
      ++worse_;
      std::printf("worse than SPP: %s   MISSED\n", name.c_str());
    }
  }

  bool report() {
    if (lines_.empty()) return false;
    std::sort(lines_.begin(), lines_.end(),
              [](const Line& a, const Line& b) { return a.ms < b.ms; });
    const auto part = [&](double share) {
      return lines_[static_cast<std::size_t>(share * static_cast<double>(lines_.size() - 1))].ms;
    };
    const auto missed = std::count_if(lines_.begin(), lines_.end(),
                                      [](const Line& line) { return line.ms > kBar; });
    std::printf(
        "%zu inputs, %d of them infeasible: median %.1f ms, 90 %% %.1f, 99 %% %.1f, "
        "longest %.1f\n",
        lines_.size(), infeasible_, part(0.5), part(0.9), part(0.99), part(1));
    std::printf("above %.0f ms: %td%s\nlongest:\n", kBar, missed, missed > 0 ? "   MISSED" : "");
    for (std::size_t i = 0; i < std::min<std::size_t>(12, lines_.size()); ++i) {
      const Line& line = lines_[lines_.size() - 1 - i];
      std::printf("%8.1f  %s\n", line.ms, line.name.c_str());
    }
    return missed == 0 && worse_ == 0;
  }

 private:
  static weft::Result<Planned> timed(const Task& task, double& took) {
    const double begin = now_ms();
    auto planned = make_plan(task, {});
    took = now_ms() - begin;
    return planned;
  }

  std::FILE* list_;
  std::vector<Line> lines_;
  int infeasible_ = 0, worse_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::size_t every = 1;
  std::FILE* list = nullptr;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("every=")) every = std::max(1, std::atoi(argument.c_str() + 6));
    if (argument.starts_with("only=")) only = argument.substr(5);
    if (argument.starts_with("list=")) list = std::fopen(argument.c_str() + 5, "w");
  }
  if (!fs::exists(kShared)) {
    std::printf("skipped: the profiles and clusters of ../shared/pipelines\n");
  }
  Bench bench(list);
  std::size_t number = 0;
  const auto all_clusters = clusters();
  for (const auto& [profile_name, profile] : profiles()) {
    for (const auto& [cluster_name, cluster] : all_clusters) {
      for (const Micro micro_batches : {4, 8, 16, 32, 64}) {
        for (const Memory& memory : kMemories) {
          const std::string name = profile_name + ", " + cluster_name + ", " +
                                   std::to_string(micro_batches) + " micro-batches, " + memory.name;
          if (number++ % every != 0 || name.find(only) == std::string::npos) continue;
          bench.plan(name, task_of(profile, cluster, micro_batches, memory));
        }
      }
    }
  }
  const bool held = bench.report();
  if (list) std::fclose(list);
  return held ? 0 : 1;
}
