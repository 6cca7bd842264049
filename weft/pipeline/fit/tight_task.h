// SPDX-License-Identifier: Apache-2.0
// For tests: tasks whose devices have barely enough memory, and classes that find out by
// enumeration whether any plan fits.
#pragma once

#include <algorithm>
#include <bit>
#include <map>

#include "weft/pipeline/plan/plan.h"
#include "weft/pipeline/plan/random_task.h"

namespace weft::pipeline {

/// Whether each group holds its stages and one micro-batch of each of them.
inline bool holds_one_micro_batch(const Task& task, const std::vector<PlannedStage>& stages) {
  const auto group = groups_of(stages);
  std::vector<Bytes> need = static_memory(task, stages);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& stage = stages[s];
    const auto r = static_cast<Bytes>(stage.devices.size());
    const Bytes kept = stage.recompute
                           ? task.chain.cut[stage.first]
                           : task.chain.stash[stage.last] - task.chain.stash[stage.first];
    need[group[s]] += (kept + r - 1) / r;
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (need[group[s]] > smallest_memory(task.cluster, stages[s].devices)) return false;
  }
  return true;
}

/// Enumerates all plans with one stage per device. The state is the next layer and the set of
/// devices left; known states are memoized.
class AnyFits {
 public:
  AnyFits(const Task& task, std::int32_t replicas) : task_(task), replicas_(replicas) {
    const std::uint32_t all = 1u << task.cluster.devices;
    for (std::uint32_t set = 0; set < all; ++set) {
      auto& devices = sets_.emplace_back();
      for (std::int32_t d = 0; d < task.cluster.devices; ++d) {
        if ((set >> d & 1) != 0) devices.push_back(d);
      }
      smallest_.push_back(smallest_memory(task.cluster, devices));
    }
    known_.assign(static_cast<std::size_t>(task.chain.size() + 1) * all, 0);
  }

  bool from(std::int32_t layer, std::uint32_t free) {
    if (layer == task_.chain.size()) return true;
    char& known = known_[static_cast<std::size_t>(layer) * sets_.size() + free];
    if (known == 0) known = try_from(layer, free) ? 2 : 1;
    return known == 2;
  }
  bool any() { return from(0, static_cast<std::uint32_t>(sets_.size() - 1)); }

 private:
  bool try_from(std::int32_t layer, std::uint32_t free) {
    const LayerChain& chain = task_.chain;
    for (std::uint32_t set = free; set != 0; set = (set - 1) & free) {
      const auto r = static_cast<Bytes>(std::popcount(set));
      if (replicas_ > 0 && r > replicas_) continue;
      for (std::int32_t last = layer + 1; last <= chain.size(); ++last) {
        const Bytes kept = chain.stash[last] - chain.stash[layer];
        const Bytes need = task_.state_factor * (chain.parameters[last] - chain.parameters[layer]) +
                           (kept + r - 1) / r;
        if (need > smallest_[set]) break;
        if (from(last, free & ~set)) return true;
      }
    }
    return false;
  }

  const Task& task_;
  std::int32_t replicas_;
  std::vector<std::vector<std::int32_t>> sets_;
  std::vector<Bytes> smallest_;
  std::vector<char> known_;  ///< per state; 0: unknown, 1: nothing fits, 2: some plan fits
};

/// Enumerates all plans whose stages may share devices. Exponential, so for a few layers and
/// devices only.
class AnySharedFits {
 public:
  AnySharedFits(const Task& task, std::int32_t chunks) : task_(task), chunks_(chunks) {}
  bool any() { return from(0, 0); }

 private:
  bool from(std::int32_t layer, std::uint32_t used) {
    if (layer == task_.chain.size()) return recompute_from(0);
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
        const bool fits = from(last, used | set);
        stages_.pop_back();
        if (fits) return true;
      }
      --taken_[set];
    }
    return false;
  }
  bool recompute_from(std::size_t stage) {
    if (stage == stages_.size()) return holds_one_micro_batch(task_, stages_);
    for (const bool recompute : {false, true}) {
      stages_[stage].recompute = recompute;
      if (recompute_from(stage + 1)) return true;
    }
    stages_[stage].recompute = false;
    return false;
  }

  const Task& task_;
  std::int32_t chunks_;
  std::map<std::uint32_t, std::int32_t> taken_;  ///< number of stages per set of devices
  std::vector<PlannedStage> stages_;
};

/// Layers and devices of random sizes. The devices together have about `slack` times the memory
/// that the layers need.
inline Task tight_task(std::mt19937& random, std::int32_t layers, std::int32_t devices,
                       double slack) {
  Profile profile = random_layers(random, layers);
  const std::int64_t stash = number_in(random, 0, 20), spread = number_in(random, 1, 40);
  for (Layer& layer : profile.layers) {
    layer.parameters = number_in(random, 1, spread) * 1'000'000;
    layer.stash = layer.activation * stash;
  }
  Task task;
  task.chain = layer_chain(profile);
  task.cluster = random_cluster(random, devices, false);
  task.micro_batches = static_cast<Micro>(number_in(random, 1, 8));
  task.limit_memory = true;
  const auto need = static_cast<double>(task.state_factor * task.chain.parameters.back() +
                                        task.chain.stash.back());
  const std::int64_t sizes = number_in(random, 1, 16);
  double sum = 0;
  std::vector<double> share;
  for (std::int32_t d = 0; d < devices; ++d) {
    share.push_back(static_cast<double>(number_in(random, 1, sizes)));
    sum += share.back();
  }
  for (std::int32_t d = 0; d < devices; ++d) {
    task.cluster.memory[d] = static_cast<Bytes>(need * slack * share[d] / sum) + 1;
  }
  return task;
}

/// A task for which a plan exists: layers are cut at random places, each stage gets random devices,
/// and the memory of those devices is `slack` times what the stage needs.
inline Task planted_task(std::mt19937& random, std::int32_t layers, std::int32_t devices,
                         double slack) {
  Task task = tight_task(random, layers, devices, 1);
  std::vector<std::int32_t> order(devices);
  for (std::int32_t d = 0; d < devices; ++d) order[d] = d;
  std::shuffle(order.begin(), order.end(), random);
  const auto stages = static_cast<std::int32_t>(
      number_in(random, (std::min(layers, devices) + 1) / 2, std::min(layers, devices)));
  std::vector<std::int32_t> cuts, begins;
  const auto places = [&](std::int32_t count) {
    std::vector<std::int32_t> all, chosen{0};
    for (std::int32_t i = 1; i < count; ++i) all.push_back(i);
    std::shuffle(all.begin(), all.end(), random);
    chosen.insert(chosen.end(), all.begin(), all.begin() + stages - 1);
    std::sort(chosen.begin(), chosen.end());
    chosen.push_back(count);
    return chosen;
  };
  cuts = places(layers);
  begins = places(devices);
  for (std::int32_t s = 0; s < stages; ++s) {
    const Bytes r = begins[s + 1] - begins[s];
    const Bytes need =
        task.state_factor * (task.chain.parameters[cuts[s + 1]] - task.chain.parameters[cuts[s]]) +
        (task.chain.stash[cuts[s + 1]] - task.chain.stash[cuts[s]] + r - 1) / r;
    for (std::int32_t i = begins[s]; i < begins[s + 1]; ++i) {
      task.cluster.memory[order[i]] = static_cast<Bytes>(static_cast<double>(need) * slack) + 1;
    }
  }
  return task;
}

}  // namespace weft::pipeline
