// SPDX-License-Identifier: Apache-2.0
// Computes the least memory that stages need, and looks for one of three reasons why no plan can
// fit. First, a single layer may be too large for every device. Second, the layers that only large
// devices can hold may exceed the memory of these devices. Third, there may be more layers with
// large parameters than the devices have room for.
#include "weft/pipeline/fit/needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/base/counted.h"
#include "weft/base/size.h"

namespace weft::pipeline {
namespace {

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

Bytes part(Bytes all, std::int32_t of) { return (all + of - 1) / of; }

std::string size(double bytes) { return exact_bytes(static_cast<Bytes>(bytes)); }

/// Assume that a stage recomputes if this saves memory and if its `kept` (the activations of one
/// micro-batch) is at most `largest`. Returns the memory that a device then needs. Unless `chosen`
/// is null, stores in it which stages recompute.
Bytes need_up_to(const std::vector<StageNeed>& stages, Micro alive, Bytes largest,
                 std::vector<bool>* chosen) {
  Bytes need = 0, again = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageNeed& stage = stages[i];
    const bool recomputes = stage.kept <= largest && stage.input < stage.kept;
    if (recomputes) again = std::max(again, stage.kept);
    need += stage.state + alive * (recomputes ? stage.input : stage.kept);
    if (chosen) (*chosen)[i] = recomputes;
  }
  return need + again;
}

/// Returns the least memory over all choices of stages that recompute. Also returns the largest
/// `kept` (activations of one micro-batch) of the stages that recompute, or -1 if none does. A
/// device recomputes one stage at a time, so only the largest of these stages determines the room
/// for recomputed activations. If one stage recomputes, all smaller stages can recompute without
/// further cost. So it is enough to try each stage as the largest one, instead of every subset.
std::pair<Bytes, Bytes> best_choice(const std::vector<StageNeed>& stages, Micro alive) {
  std::pair best{need_up_to(stages, alive, -1, nullptr), Bytes{-1}};
  for (const StageNeed& largest : stages) {
    best =
        std::min(best, std::pair(need_up_to(stages, alive, largest.kept, nullptr), largest.kept));
  }
  return best;
}

/// Looks for a layer that fits on no device even if it is a whole stage. `memory` is sorted,
/// largest first. So a stage on r devices can have at most memory[r - 1] per device.
std::string layer_too_large(const Task& task, const std::vector<Bytes>& memory,
                            std::int32_t replicas) {
  for (std::int32_t i = 0; i < task.chain.size(); ++i) {
    bool fits = false;
    for (std::int32_t r = 1; r <= replicas && !fits; ++r) {
      const StageNeed need = stage_need(task, i, i + 1, r);
      fits = need.state + need.kept <= memory[r - 1];
    }
    if (fits) continue;
    const StageNeed need = stage_need(task, i, i + 1, 1);
    return fmt::format(
        "layer '{}' alone takes {} for parameters and their state and {} for a micro-batch, but "
        "the largest device has {}{}",
        task.chain.ids[i], exact_bytes(need.state), exact_bytes(need.kept), exact_bytes(memory[0]),
        replicas > 1 ? fmt::format(", and splitting the micro-batch among {} does not help",
                                   counted(replicas, "device"))
                     : "");
  }
  return {};
}

/// Looks for a set of layers that fit only on the larger devices, but whose state exceeds the total
/// memory of these devices. Goes through the layers from the most demanding one on, together with
/// the devices that can hold them.
std::string layers_too_many(const Task& task, const std::vector<Bytes>& memory,
                            std::int32_t replicas) {
  std::vector<std::pair<Bytes, Bytes>> layers;  // per layer: the memory that a device needs, the
                                                // state
  for (std::int32_t i = 0; i < task.chain.size(); ++i) {
    const StageNeed need = stage_need(task, i, i + 1, replicas);
    layers.emplace_back(need.state + need.kept, need.state);
  }
  std::sort(layers.rbegin(), layers.rend());
  double state = 0, room = 0;
  std::size_t devices = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    state += static_cast<double>(layers[i].second);
    if (i + 1 < layers.size() && layers[i + 1].first == layers[i].first) continue;
    for (; devices < memory.size() && memory[devices] >= layers[i].first; ++devices) {
      if (memory[devices] == kUnlimited) return {};
      room += static_cast<double>(memory[devices]);
    }
    if (state <= room) continue;
    if (devices == memory.size()) {
      // At this point `room` is the memory of all devices. So the message can compare the sums over
      // all layers and all devices.
      for (++i; i < layers.size(); ++i) state += static_cast<double>(layers[i].second);
      return fmt::format("parameters and their state take {}, but all devices together have {}",
                         size(state), size(std::accumulate(memory.begin(), memory.end(), 0.0)));
    }
    return fmt::format(
        "{} of the layers need devices of {} or more and take {} for parameters and their state, "
        "but the {} of that size {} {}",
        i + 1, exact_bytes(layers[i].first), size(state), counted(devices, "device"),
        devices == 1 ? "has" : "have", size(room));
  }
  return {};
}

/// Looks for a number n such that the devices have room for fewer than n layers of the size of the
/// n-th largest layer. This finds tasks whose total memory is large enough, but is split into
/// pieces that are too small.
std::string layers_too_bulky(const Task& task, const std::vector<Bytes>& memory) {
  std::vector<Bytes> states;
  for (std::int32_t i = 0; i < task.chain.size(); ++i) {
    states.push_back(stage_need(task, i, i + 1, 1).state);
  }
  std::sort(states.rbegin(), states.rend());
  for (std::size_t i = 0; i < states.size() && states[i] > 0; ++i) {
    std::size_t room = 0;
    for (const Bytes each : memory) {
      room += static_cast<std::size_t>(each / states[i]);
      if (room > i) break;
    }
    if (room > i) continue;
    return fmt::format(
        "{} of the layers take {} or more each for parameters and their state, but the devices "
        "have room for only {} of them",
        i + 1, exact_bytes(states[i]), room);
  }
  return {};
}

}  // namespace

StageNeed stage_need(const Task& task, std::int32_t first, std::int32_t last,
                     std::int32_t replicas) {
  const LayerChain& chain = task.chain;
  return {task.state_factor * (chain.parameters[last] - chain.parameters[first]),
          part(chain.stash[last] - chain.stash[first], replicas), part(chain.cut[first], replicas)};
}

Bytes least_need(const StageNeed& stage, Micro alive) {
  return stage.state + std::min(alive * stage.kept, stage.kept + alive * stage.input);
}

Bytes least_need(const std::vector<StageNeed>& stages, Micro alive) {
  return best_choice(stages, alive).first;
}

void recompute_least(const Task& task, Micro alive, std::vector<PlannedStage>& stages) {
  const std::vector<DeviceId> group = groups_of(stages);
  for (std::size_t first = 0; first < stages.size(); ++first) {
    // Each group is handled once, at its first stage.
    if (std::find(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(first),
                  group[first]) != group.begin() + static_cast<std::ptrdiff_t>(first)) {
      continue;
    }
    std::vector<StageNeed> needs;
    std::vector<std::size_t> members;
    for (std::size_t s = first; s < stages.size(); ++s) {
      if (group[s] != group[first]) continue;
      members.push_back(s);
      needs.push_back(stage_need(task, stages[s].first, stages[s].last,
                                 static_cast<std::int32_t>(stages[s].devices.size())));
    }
    std::vector<bool> chosen(needs.size());
    need_up_to(needs, alive, best_choice(needs, alive).second, &chosen);
    for (std::size_t i = 0; i < members.size(); ++i) stages[members[i]].recompute = chosen[i];
  }
}

std::vector<Bytes> memory_limits(const Cluster& cluster) {
  std::vector<Bytes> limits = cluster.memory;
  std::replace(limits.begin(), limits.end(), Bytes{0}, kUnlimited);
  return limits;
}

std::string why_nothing_fits(const Task& task, std::int32_t replicas) {
  std::vector<Bytes> memory = memory_limits(task.cluster);
  std::sort(memory.rbegin(), memory.rend());
  const std::int32_t devices = task.cluster.devices;
  const std::int32_t most = replicas > 0 ? std::min(replicas, devices) : devices;
  std::string why = layer_too_large(task, memory, most);
  if (why.empty()) why = layers_too_many(task, memory, most);
  if (why.empty()) why = layers_too_bulky(task, memory);
  return why;
}

}  // namespace weft::pipeline
