// SPDX-License-Identifier: Apache-2.0
// Stages that share devices make it a matter of packing: each group of devices may have several
// stretches of layers, wherever they lie. From the first layer on, each stage goes to a group that
// has one already or to new devices, and ends at any layer that fits.
#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <unordered_set>

#include "weft/pipeline/fit/device_sizes.h"
#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/fit/needs.h"

namespace weft::pipeline {
namespace {

constexpr double kSlackRounding = 1e-9;  ///< of sums of bytes
/// Up to so many devices any number of them may form a group; of more, a few or a power of two.
constexpr std::int32_t kAnyNumber = 8;

struct Pack {
  std::int32_t size = 0, replicas = 0;
  Bytes state = 0, need = 0;
  std::vector<StageNeed> stages;
};

struct Part {
  DeviceSizes::Left left;
  std::vector<Pack> packs;  ///< in the order of their first stages
  std::vector<std::pair<std::int32_t, std::int32_t>> stages;  ///< pack and last layer
};

/// A part that one more stage makes of another, made only if it is among the best.
struct Choice {
  std::int32_t part = 0, pack = 0;      ///< the pack behind the last one is new
  std::int32_t size = 0, replicas = 0;  ///< of the pack
  double slack = 0;                     ///< memory left beyond what the layers left need
};

/// All that matters for what may follow.
std::string key_of(const Part& part) {
  std::vector<std::string> packs;
  const auto add = [](std::string& key, std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const Pack& pack : part.packs) {
    std::string& key = packs.emplace_back();
    for (const std::int64_t number : {Bytes{pack.size}, Bytes{pack.replicas}, pack.state}) {
      add(key, number);
    }
    std::vector<std::pair<Bytes, Bytes>> kept;
    for (const StageNeed& stage : pack.stages) kept.emplace_back(stage.kept, stage.input);
    std::sort(kept.begin(), kept.end());
    for (const auto& [all, input] : kept) {
      add(key, all);
      add(key, input);
    }
  }
  std::sort(packs.begin(), packs.end());
  std::string key(reinterpret_cast<const char*>(part.left.data()),
                  part.left.size() * sizeof(char16_t));
  add(key, static_cast<std::int64_t>(part.stages.size()));
  for (const std::string& pack : packs) {
    add(key, static_cast<std::int64_t>(pack.size()));
    key += pack;
  }
  return key;
}

class Packer {
 public:
  Packer(const Task& task, const FittingLimits& limits)
      : task_(task), limits_(limits), sizes_(task.cluster), reached_(task.chain.size() + 1) {
    const std::int32_t devices = task.cluster.devices, layers = task.chain.size();
    replicas_ = limits.replicas > 0 ? std::min(limits.replicas, devices) : devices;
    rest_.assign(layers + 1, {});
    for (std::int32_t i = layers; i-- > 0;) {
      const StageNeed least = stage_need(task, i, i + 1, replicas_);
      const Bytes need = least.state + least.kept;
      rest_[i] = {rest_[i + 1].state + static_cast<double>(least.state),
                  std::max(rest_[i + 1].largest, need),
                  i + 1 == layers ? need : std::min(rest_[i + 1].smallest, need)};
    }
  }

  /// Ever more parts of plans side by side, until all are there or the effort is spent.
  Fitting run() {
    for (;; width_ *= 8) {
      if (go()) {
        return {Fit::kFound, stages_of(made_of(reached_.back().front(), task_.chain.size()))};
      }
      if (!left_out_) return {devices_any() ? Fit::kNone : Fit::kUnknown, {}};
      if (spent_ >= limits_.effort) return {};
    }
  }

 private:
  /// Of the layers from one on.
  struct Rest {
    double state = 0;
    Bytes largest = 0, smallest = 0;  ///< layer, on as many devices as may be
  };

  bool devices_any() const { return task_.cluster.devices <= kAnyNumber; }

  bool go() {
    left_out_ = false;
    for (auto& choices : reached_) choices.clear();
    parts_.assign(1, {});
    parts_.front().left = sizes_.all();
    std::vector<std::int32_t> level{0};
    for (std::int32_t layer = 0; layer < task_.chain.size(); ++layer) {
      if (layer > 0) level = make_parts(layer);
      for (const std::int32_t part : level) {
        extend(part, layer);
        if (!reached_.back().empty()) return true;
        if (spent_ < limits_.effort) continue;
        left_out_ = true;
        return false;
      }
    }
    return false;
  }

  static bool is_better(const Choice& a, const Choice& b) {
    return std::tuple(-a.slack, a.part, a.pack, a.size, a.replicas) <
           std::tuple(-b.slack, b.part, b.pack, b.size, b.replicas);
  }

  /// The best that have these layers, each once.
  std::vector<std::int32_t> make_parts(std::int32_t layer) {
    std::vector<Choice> choices = std::move(reached_[layer]);
    std::sort(choices.begin(), choices.end(), is_better);
    std::unordered_set<std::string> known;
    std::vector<std::int32_t> made;
    for (const Choice& choice : choices) {
      Part part = made_of(choice, layer);
      spent_ += 16;
      if (!known.insert(key_of(part)).second) continue;
      if (made.size() == width_) {
        left_out_ = true;
        break;
      }
      made.push_back(static_cast<std::int32_t>(parts_.size()));
      parts_.push_back(std::move(part));
    }
    return made;
  }

  Part made_of(const Choice& choice, std::int32_t last) const {
    Part part = parts_[choice.part];
    const std::int32_t first = part.stages.empty() ? 0 : part.stages.back().second;
    if (choice.pack == static_cast<std::int32_t>(part.packs.size())) {
      DeviceSizes::take(part.left, choice.size, choice.replicas);
      part.packs.push_back({choice.size, choice.replicas, 0, 0, {}});
    }
    Pack& pack = part.packs[choice.pack];
    pack.stages.push_back(stage_need(task_, first, last, pack.replicas));
    pack.state += pack.stages.back().state;
    pack.need = least_need(pack.stages, 1);
    part.stages.emplace_back(choice.pack, last);
    return part;
  }

  bool is_full(std::size_t stages) const {
    return static_cast<std::int32_t>(stages) >= limits_.chunks;
  }

  void extend(std::int32_t at, std::int32_t layer) {
    const Part& part = parts_[at];
    const auto count = static_cast<std::int32_t>(part.stages.size());
    if (limits_.stages > 0 && count == limits_.stages) return;
    const auto packs = static_cast<std::int32_t>(part.packs.size());
    for (std::int32_t p = 0; p < packs; ++p) {
      const Pack& pack = part.packs[p];
      if (!is_full(pack.stages.size())) {
        add_stages({at, p, pack.size, pack.replicas}, layer, pack, part.left);
      }
    }
    for (std::int32_t size = 0; size < sizes_.count(); ++size) {
      if (part.left[size] == 0) continue;
      const std::int32_t most = std::min(replicas_, DeviceSizes::from(part.left, size));
      for (std::int32_t r = 1; r <= most; ++r) {
        if (!devices_any() && r > 4 && !std::has_single_bit(static_cast<std::uint32_t>(r)))
          continue;
        DeviceSizes::Left left = part.left;
        DeviceSizes::take(left, size, r);
        add_stages({at, packs, size, r}, layer, {size, r, 0, 0, {}}, left);
      }
    }
  }

  /// One more stage on a group, of every length that fits.
  void add_stages(Choice choice, std::int32_t first, Pack pack, const DeviceSizes::Left& left) {
    const Part& part = parts_[choice.part];
    const std::int32_t layers = task_.chain.size();
    const auto count = static_cast<std::int32_t>(part.stages.size()) + 1;
    const Bytes memory = sizes_.memory(pack.size);
    // What devices and groups other than this one have for the layers that follow.
    Bytes largest = sizes_.largest(left);
    double room = sizes_.room(left, rest_[first].smallest);
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(part.packs.size()); ++p) {
      const Pack& other = part.packs[p];
      if (p == choice.pack || is_full(other.stages.size())) continue;
      largest = std::max(largest, sizes_.memory(other.size) - other.state);
      room += static_cast<double>(sizes_.memory(other.size) - other.need);
    }
    spent_ += 4 + static_cast<std::int64_t>(part.packs.size()) + sizes_.count() / 4;
    pack.stages.emplace_back();
    const bool is_open = !is_full(pack.stages.size());
    for (std::int32_t last = first + 1; last <= layers; ++last) {
      spent_ += 2;
      pack.stages.back() = stage_need(task_, first, last, pack.replicas);
      const Bytes need = least_need(pack.stages, 1);
      if (need > memory) break;
      // Each stage that must follow has a layer.
      if (limits_.stages > 0 &&
          (last == layers ? count != limits_.stages : limits_.stages - count > layers - last)) {
        continue;
      }
      const Rest& rest = rest_[last];
      const Bytes own = is_open ? memory - pack.state - pack.stages.back().state : 0;
      if (last < layers && std::max(largest, own) < rest.largest) continue;
      choice.slack = room + (is_open ? static_cast<double>(memory - need) : 0) - rest.state;
      if (choice.slack < -kSlackRounding * rest.state) continue;
      std::vector<Choice>& choices = reached_[last];
      choices.push_back(choice);
      if (choices.size() < 256 * width_) continue;
      std::nth_element(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(64 * width_),
                       choices.end(), is_better);
      choices.resize(64 * width_);
      left_out_ = true;
    }
  }

  std::vector<PlannedStage> stages_of(const Part& part) const {
    DeviceSizes::Taker taker(sizes_);
    std::vector<std::vector<std::int32_t>> devices;
    for (const Pack& pack : part.packs) devices.push_back(taker.take(pack.size, pack.replicas));
    std::vector<PlannedStage> stages;
    std::int32_t first = 0;
    for (const auto& [pack, last] : part.stages) {
      stages.push_back({first, last, devices[pack], false});
      first = last;
    }
    recompute_least(task_, 1, stages);
    return stages;
  }

  const Task& task_;
  const FittingLimits& limits_;
  DeviceSizes sizes_;
  std::int32_t replicas_ = 1;
  std::vector<Rest> rest_;
  std::vector<Part> parts_;
  std::vector<std::vector<Choice>> reached_;  ///< by the layers that they have
  std::size_t width_ = 4;                     ///< parts with the same layers that are extended
  bool left_out_ = false;                     ///< others were there
  std::int64_t spent_ = 0;
};

}  // namespace

Fitting fit_shared_stages(const Task& task, const FittingLimits& limits) {
  return Packer(task, limits).run();
}

}  // namespace weft::pipeline
