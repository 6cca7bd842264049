// SPDX-License-Identifier: Apache-2.0
// Improves a plan by hill climbing. One round tries all moves of each kind, from the cheapest and
// most fruitful kind (moving cuts) to the one that changes most (splitting stages), and immediately
// keeps every move that helps. Rounds repeat until one of them finds nothing or the effort is
// spent.
#include "weft/pipeline/plan/improve.h"

#include <algorithm>

namespace weft::pipeline {
namespace {

using Stages = std::vector<PlannedStage>;

class HillClimber {
 public:
  HillClimber(const Task& task, Evaluator& evaluator, const ImproveLimits& limits, Evaluated plan)
      : task_(task), evaluator_(evaluator), limits_(limits), best_(std::move(plan)) {}

  Evaluated run() {
    evaluator_.stop_at(limits_.ops);
    bool better = true;
    while (better && !spent()) {
      better = move_cuts();
      if (task_.limit_memory) better |= flip_recomputation();
      if (limits_.devices) {
        better |= exchange_devices();
        better |= move_devices();
      }
      // These moves change the number of stages, so they are left out if the number is fixed.
      if (limits_.stages == 0) {
        better |= join_stages();
        better |= split_stages();
      }
    }
    return std::move(best_);
  }

 private:
  bool spent() const { return evaluator_.ops() >= limits_.ops; }

  bool take_if_better(const Stages& stages) {
    if (spent()) return false;
    const auto result = evaluator_.improve_as_given(stages, best_.step);
    if (!result || result->step >= best_.step) return false;
    best_ = *result;
    return true;
  }

  /// Shifts each cut by 1, 2, 4 or 8 layers, repeatedly as long as the same shift helps. Large
  /// shifts leave local minima that shifts by one layer cannot leave.
  bool move_cuts() {
    bool better = false;
    for (std::size_t s = 0; s + 1 < best_.stages.size(); ++s) {
      for (const std::int32_t by : {1, -1, 2, -2, 4, -4, 8, -8}) {
        for (;;) {
          Stages stages = best_.stages;
          const std::int32_t cut = stages[s].last + by;
          if (cut <= stages[s].first || cut >= stages[s + 1].last) break;
          stages[s].last = stages[s + 1].first = cut;
          if (!take_if_better(stages)) break;
          better = true;
        }
      }
    }
    return better;
  }

  /// Switches the recomputation of each stage on or off.
  bool flip_recomputation() {
    bool better = false;
    for (std::size_t s = 0; s < best_.stages.size(); ++s) {
      Stages stages = best_.stages;
      stages[s].recompute = !stages[s].recompute;
      better |= take_if_better(stages);
    }
    return better;
  }

  /// The devices that no stage uses.
  std::vector<std::int32_t> unused() const {
    std::vector<bool> used(task_.cluster.devices, false);
    for (const PlannedStage& stage : best_.stages) {
      for (const std::int32_t device : stage.devices) used[device] = true;
    }
    std::vector<std::int32_t> free;
    for (std::int32_t d = 0; d < task_.cluster.devices; ++d) {
      if (!used[d]) free.push_back(d);
    }
    return free;
  }

  static void replace(PlannedStage& stage, std::int32_t old, std::int32_t by) {
    *std::find(stage.devices.begin(), stage.devices.end(), old) = by;
    std::sort(stage.devices.begin(), stage.devices.end());
  }

  /// Exchanges the devices of two stages: first tries to exchange all devices, then one device of
  /// each. Also exchanges a device of a stage for an unused one.
  bool exchange_devices() {
    bool better = false;
    for (std::size_t a = 0; a < best_.stages.size() && !spent(); ++a) {
      for (std::size_t b = a + 1; b < best_.stages.size(); ++b) {
        Stages stages = best_.stages;
        std::swap(stages[a].devices, stages[b].devices);
        better |= take_if_better(stages);
        better |= exchange_one(a, b);
      }
      for (const std::int32_t free : unused()) {
        for (const std::int32_t device : std::vector(best_.stages[a].devices)) {
          Stages stages = best_.stages;
          replace(stages[a], device, free);
          if (!take_if_better(stages)) continue;
          better = true;
          break;
        }
      }
    }
    return better;
  }

  bool exchange_one(std::size_t a, std::size_t b) {
    const auto of_a = best_.stages[a].devices, of_b = best_.stages[b].devices;
    if (of_a.size() == 1 && of_b.size() == 1) return false;  // the same as exchanging all devices
    for (const std::int32_t x : of_a) {
      for (const std::int32_t y : of_b) {
        if (spent()) return false;
        Stages stages = best_.stages;
        replace(stages[a], x, y);
        replace(stages[b], y, x);
        if (take_if_better(stages)) return true;
      }
    }
    return false;
  }

  bool may_grow(const PlannedStage& stage) const {
    return limits_.replicas == 0 ||
           static_cast<std::int32_t>(stage.devices.size()) < limits_.replicas;
  }

  /// Gives a stage one more device: an unused device, or a device of another stage that has
  /// several.
  bool move_devices() {
    bool better = false;
    for (std::size_t to = 0; to < best_.stages.size() && !spent(); ++to) {
      if (!may_grow(best_.stages[to])) continue;
      for (const std::int32_t device : unused()) {
        Stages stages = best_.stages;
        add(stages[to], device);
        better |= take_if_better(stages);
        break;  // another unused device would hardly differ, and each try costs a simulation
      }
      for (std::size_t from = 0; from < best_.stages.size(); ++from) {
        if (from == to || best_.stages[from].devices.size() < 2) continue;
        for (const std::int32_t device : std::vector(best_.stages[from].devices)) {
          Stages stages = best_.stages;
          std::erase(stages[from].devices, device);
          add(stages[to], device);
          if (!take_if_better(stages)) continue;
          better = true;
          break;
        }
      }
    }
    return better;
  }

  static void add(PlannedStage& stage, std::int32_t device) {
    stage.devices.insert(std::upper_bound(stage.devices.begin(), stage.devices.end(), device),
                         device);
  }

  /// Merges two neighbouring stages; the merged stage gets the devices of the two, up to the
  /// allowed number.
  bool join_stages() {
    for (std::size_t s = 0; s + 1 < best_.stages.size(); ++s) {
      Stages stages = best_.stages;
      PlannedStage& kept = stages[s];
      kept.last = stages[s + 1].last;
      for (const std::int32_t device : stages[s + 1].devices) {
        if (may_grow(kept)) add(kept, device);
      }
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(s) + 1);
      if (take_if_better(stages)) return true;
    }
    return false;
  }

  /// Splits a stage with several devices into two stages. Each of them gets about half of the work
  /// and half of the devices.
  bool split_stages() {
    for (std::size_t s = 0; s < best_.stages.size(); ++s) {
      const PlannedStage stage = best_.stages[s];
      const std::size_t devices = stage.devices.size();
      if (devices < 2 || stage.last - stage.first < 2) continue;
      Stages stages = best_.stages;
      PlannedStage second = stage;
      stages[s].last = second.first = half(stage.first, stage.last);
      stages[s].devices.resize(devices / 2);
      second.devices.erase(second.devices.begin(),
                           second.devices.begin() + static_cast<std::ptrdiff_t>(devices / 2));
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(s) + 1, second);
      if (take_if_better(stages)) return true;
    }
    return false;
  }

  /// The cut that leaves about half of the work on each side.
  std::int32_t half(std::int32_t first, std::int32_t last) const {
    const LayerChain& chain = task_.chain;
    const auto work = [&](std::int32_t i) { return chain.forward[i] + chain.backward[i]; };
    std::int32_t cut = first + 1;
    while (cut + 1 < last && 2 * work(cut) < work(first) + work(last)) ++cut;
    return cut;
  }

  const Task& task_;
  Evaluator& evaluator_;
  ImproveLimits limits_;
  Evaluated best_;
};

}  // namespace

Evaluated improve(const Task& task, Evaluator& evaluator, const ImproveLimits& limits,
                  Evaluated plan) {
  return HillClimber(task, evaluator, limits, std::move(plan)).run();
}

}  // namespace weft::pipeline
