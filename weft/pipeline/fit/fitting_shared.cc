// SPDX-License-Identifier: Apache-2.0
// Finds plans whose stages share devices by a beam search. This is a packing problem: each group of
// devices is a bin that takes several ranges of layers from anywhere in the model. The search
// places stages from the first layer on. Each stage goes to an existing bin or opens a new one, and
// may end at any layer up to which it fits. All partial plans that have placed the same number of
// layers compete. The search extends those with the most memory to spare. The beam widens as in
// fitting.cc.
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

constexpr double kSlackRounding = 1e-9;  ///< relative rounding error allowed for sums of bytes
/// Up to this many devices a group may have any number of devices. In larger clusters a group has
/// one to four devices or a power of two, to keep the search small.
constexpr std::int32_t kAnyNumber = 8;

/// A group of devices and the stages placed on it.
struct Bin {
  std::int32_t size = 0;      ///< index of the memory size of its smallest device
  std::int32_t replicas = 0;  ///< number of devices
  Bytes state = 0;            ///< parameters and their state
  Bytes need = 0;             ///< all memory that the bin needs, with one micro-batch per stage
  std::vector<StageNeed> stages;
};

/// A partial plan.
struct Part {
  DeviceSizes::Left left;
  std::vector<Bin> bins;  ///< in the order of their first stages
  std::vector<std::pair<std::int32_t, std::int32_t>> stages;  ///< bin and end of each stage
};

/// A possible extension of a partial plan by one stage. The extended plan itself is built only if
/// the choice is among the best, because most choices are dropped.
struct Choice {
  std::int32_t part = 0;
  std::int32_t bin = 0;                 ///< equal to the number of bins for a new bin
  std::int32_t size = 0, replicas = 0;  ///< of the bin
  double slack = 0;                     ///< memory left, minus what the layers left need
};

/// A key of everything that decides which stages may follow a partial plan. It does not depend on
/// the order of bins and stages. Partial plans with equal keys are interchangeable.
std::string key_of(const Part& part) {
  std::vector<std::string> bins;
  const auto add = [](std::string& key, std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const Bin& bin : part.bins) {
    std::string& key = bins.emplace_back();
    for (const std::int64_t number : {Bytes{bin.size}, Bytes{bin.replicas}, bin.state}) {
      add(key, number);
    }
    std::vector<std::pair<Bytes, Bytes>> kept;
    for (const StageNeed& stage : bin.stages) kept.emplace_back(stage.kept, stage.input);
    std::sort(kept.begin(), kept.end());
    for (const auto& [all, input] : kept) {
      add(key, all);
      add(key, input);
    }
  }
  std::sort(bins.begin(), bins.end());
  std::string key(reinterpret_cast<const char*>(part.left.data()),
                  part.left.size() * sizeof(char16_t));
  add(key, static_cast<std::int64_t>(part.stages.size()));
  for (const std::string& bin : bins) {
    add(key, static_cast<std::int64_t>(bin.size()));
    key += bin;
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

  /// Repeats the beam search with wider and wider beams. Ends if a plan is found, if nothing had to
  /// be dropped, or if the effort is spent.
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
  /// The memory that a layer and all layers after it need.
  struct Rest {
    double state = 0;
    /// Memory need of the largest and the smallest layer, split among as many devices as allowed.
    Bytes largest = 0, smallest = 0;
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
    return std::tuple(-a.slack, a.part, a.bin, a.size, a.replicas) <
           std::tuple(-b.slack, b.part, b.bin, b.size, b.replicas);
  }

  /// Builds the best partial plans that have placed this many layers, without duplicates.
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
    if (choice.bin == static_cast<std::int32_t>(part.bins.size())) {
      DeviceSizes::take(part.left, choice.size, choice.replicas);
      part.bins.push_back({choice.size, choice.replicas, 0, 0, {}});
    }
    Bin& bin = part.bins[choice.bin];
    bin.stages.push_back(stage_need(task_, first, last, bin.replicas));
    bin.state += bin.stages.back().state;
    bin.need = least_need(bin.stages, 1);
    part.stages.emplace_back(choice.bin, last);
    return part;
  }

  bool is_full(std::size_t stages) const {
    return static_cast<std::int32_t>(stages) >= limits_.chunks;
  }

  /// Collects all choices for the next stage of a partial plan: on each bin with room for another
  /// stage, and on new bins of every size and number of devices.
  void extend(std::int32_t at, std::int32_t layer) {
    const Part& part = parts_[at];
    const auto count = static_cast<std::int32_t>(part.stages.size());
    if (limits_.stages > 0 && count == limits_.stages) return;
    const auto bins = static_cast<std::int32_t>(part.bins.size());
    for (std::int32_t b = 0; b < bins; ++b) {
      const Bin& bin = part.bins[b];
      if (!is_full(bin.stages.size())) {
        add_stages({at, b, bin.size, bin.replicas}, layer, bin, part.left);
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
        add_stages({at, bins, size, r}, layer, {size, r, 0, 0, {}}, left);
      }
    }
  }

  /// Adds the choices for one more stage on a bin, one per length that fits. `left` are the devices
  /// that remain outside all bins.
  void add_stages(Choice choice, std::int32_t first, Bin bin, const DeviceSizes::Left& left) {
    const Part& part = parts_[choice.part];
    const std::int32_t layers = task_.chain.size();
    const auto count = static_cast<std::int32_t>(part.stages.size()) + 1;
    const Bytes memory = sizes_.memory(bin.size);
    // Memory for the layers that follow, on free devices and on the other bins: `largest` is the
    // largest piece, `room` is the sum.
    Bytes largest = sizes_.largest(left);
    double room = sizes_.room(left, rest_[first].smallest);
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(part.bins.size()); ++b) {
      const Bin& other = part.bins[b];
      if (b == choice.bin || is_full(other.stages.size())) continue;
      largest = std::max(largest, sizes_.memory(other.size) - other.state);
      room += static_cast<double>(sizes_.memory(other.size) - other.need);
    }
    spent_ += 4 + static_cast<std::int64_t>(part.bins.size()) + sizes_.count() / 4;
    bin.stages.emplace_back();
    const bool is_open = !is_full(bin.stages.size());
    for (std::int32_t last = first + 1; last <= layers; ++last) {
      spent_ += 2;
      bin.stages.back() = stage_need(task_, first, last, bin.replicas);
      const Bytes need = least_need(bin.stages, 1);
      if (need > memory) break;
      // If the number of stages is fixed, each stage that still follows needs at least one layer.
      if (limits_.stages > 0 &&
          (last == layers ? count != limits_.stages : limits_.stages - count > layers - last)) {
        continue;
      }
      const Rest& rest = rest_[last];
      const Bytes own = is_open ? memory - bin.state - bin.stages.back().state : 0;
      // Prune: the largest layer left fits nowhere, or the layers left exceed all memory left.
      if (last < layers && std::max(largest, own) < rest.largest) continue;
      choice.slack = room + (is_open ? static_cast<double>(memory - need) : 0) - rest.state;
      if (choice.slack < -kSlackRounding * rest.state) continue;
      std::vector<Choice>& choices = reached_[last];
      choices.push_back(choice);
      // Bound the memory: once there are far more choices than the beam can use, keep the best.
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
    for (const Bin& bin : part.bins) devices.push_back(taker.take(bin.size, bin.replicas));
    std::vector<PlannedStage> stages;
    std::int32_t first = 0;
    for (const auto& [bin, last] : part.stages) {
      stages.push_back({first, last, devices[bin], false});
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
  std::vector<std::vector<Choice>> reached_;  ///< choices by the number of layers placed
  std::size_t width_ = 4;  ///< beam width: partial plans extended per number of layers placed
  bool left_out_ = false;  ///< whether choices or partial plans were dropped
  std::int64_t spent_ = 0;
};

}  // namespace

Fitting fit_shared_stages(const Task& task, const FittingLimits& limits) {
  return Packer(task, limits).run();
}

}  // namespace weft::pipeline
