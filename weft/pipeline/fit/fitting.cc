// SPDX-License-Identifier: Apache-2.0
// Finds plans with one stage per device by a beam search over stages. Each level appends one stage
// to the partial plans of the previous level and keeps at most `width` of the results, those with
// the most memory to spare. If the search finds no plan but has dropped partial plans, it starts
// again with eight times the width. Dominance keeps levels small: if partial plans have the same
// devices left, only the partial plan that has placed the most layers can be of use.
#include "weft/pipeline/fit/fitting.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "weft/pipeline/fit/device_sizes.h"
#include "weft/pipeline/fit/needs.h"

namespace weft::pipeline {
namespace {

/// How many micro-batches stage `s` of `count` must hold at once under a schedule. A schedule that
/// adapts to memory limits can pass micro-batches one by one, so it needs room for one only.
Micro alive_in(const std::string& schedule, std::int32_t s, std::int32_t count, Micro micros) {
  if (schedule == "gpipe") return micros;
  if (schedule == "zb-h1") return std::min(count, micros);
  if (schedule == "interleaved") return std::min(count - s, micros);
  return 1;
}

/// Whether the schedule adapts to memory limits. All other schedules follow a fixed pattern.
bool adapts_to_memory(const std::string& schedule) {
  return schedule != "gpipe" && schedule != "zb-h1" && schedule != "interleaved" &&
         schedule != "zb-v" && schedule != "dualpipe-v";
}

constexpr double kRounding = 1e-9;  ///< relative rounding error allowed for sums of bytes

/// Builds plans stage by stage, from the first layer on. Each stage takes as many layers as its
/// devices can hold.
class Search {
 public:
  /// With an empty `schedule` any order of micro-batches is allowed. For a fixed pattern the number
  /// of stages must be given, because the memory that a stage needs depends on it.
  Search(const Task& task, const FittingLimits& limits, std::int32_t stages, std::string schedule)
      : task_(task),
        sizes_(task.cluster),
        stages_(stages),
        schedule_(std::move(schedule)),
        effort_(limits.effort) {
    const std::int32_t devices = task.cluster.devices, layers = task.chain.size();
    replicas_ = limits.replicas > 0 ? std::min(limits.replicas, devices) : devices;
    rest_.assign(static_cast<std::size_t>(layers + 1) * sizes_.count(), 0);
    for (std::int32_t i = layers; i-- > 0;) {
      const StageNeed whole = stage_need(task, i, i + 1, 1);
      const StageNeed least = stage_need(task, i, i + 1, replicas_);
      for (std::int32_t size = 0; size < sizes_.count(); ++size) {
        // Whether the layer fits only on devices of this size or larger.
        const bool needs = size == 0 || least.state + least.kept > sizes_.memory(size - 1);
        rest_[at(i, size)] =
            rest_[at(i + 1, size)] + (needs ? static_cast<double>(whole.state + whole.kept) : 0);
      }
    }
  }

  /// Repeats the beam search with wider and wider beams. Ends if a plan is found, if no partial
  /// plan had to be dropped, or if the effort is spent.
  Fitting run() {
    Fitting fitting;
    for (std::size_t width = 1;; width *= 8) {
      all_ = true;
      if (const std::int32_t end = go(width); end >= 0) {
        return {Fit::kFound, stages_of(end)};
      }
      if (all_) return {is_exact() ? Fit::kNone : Fit::kUnknown, {}};
      if (spent_ >= effort_) return fitting;
    }
  }

  std::int64_t spent() const { return spent_; }

 private:
  struct Part {
    DeviceSizes::Left left;
    std::int32_t reached = 0;  ///< number of layers placed
    double slack = 0;          ///< memory of the devices left, minus what the layers left need
    std::int32_t parent = -1, size = 0, replicas = 0;
  };
  std::size_t at(std::int32_t layer, std::int32_t size) const {
    return static_cast<std::size_t>(layer) * sizes_.count() + size;
  }

  /// Checks for each memory size: do the devices of this size or larger have enough memory for all
  /// layers left that fit only on such devices? Returns false if not. Sets the slack of the partial
  /// plan.
  bool has_room(Part& part) const {
    double room = 0;
    for (std::int32_t size = sizes_.count(); size-- > 0;) {
      room += static_cast<double>(part.left[size]) * static_cast<double>(sizes_.memory(size));
      const double need = rest_[at(part.reached, size)];
      if (need == 0) continue;
      if (room < (1 - kRounding) * need) return false;
      part.slack = room - need;
      // All layers left need devices of this size or larger, so smaller devices need no check.
      if (need == rest_[at(part.reached, 0)]) break;
    }
    return true;
  }

  /// Whether it proves that no plan exists if the search has tried everything without success. The
  /// dominance rule assumes that the memory need of a stage does not depend on its position. This
  /// assumption is wrong for fixed patterns.
  bool is_exact() const { return schedule_.empty() || adapts_to_memory(schedule_); }

  /// One beam search. Returns the index in parts_ of a complete plan, or -1.
  std::int32_t go(std::size_t width) {
    parts_.clear();
    best_.clear();
    Part start;
    start.left = sizes_.all();
    parts_.push_back(start);
    std::vector<std::int32_t> level{0};
    const std::int32_t most =
        stages_ > 0 ? stages_ : std::min<std::int32_t>(task_.chain.size(), task_.cluster.devices);
    for (stage_ = 0; stage_ < most && !level.empty(); ++stage_) {
      next_.clear();
      if (stages_ > 0) best_.clear();
      for (const std::int32_t part : level) {
        if (const std::int32_t end = extend(part); end >= 0) return end;
        if (spent_ < effort_) continue;
        all_ = false;
        return -1;
      }
      // Drop a partial plan if a later one has the same devices left and has placed more layers.
      std::erase_if(next_, [&](std::int32_t p) { return best_.at(parts_[p].left).second != p; });
      if (next_.size() > width) {
        all_ = false;
        std::nth_element(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(width),
                         next_.end(), [&](std::int32_t a, std::int32_t b) {
                           return std::pair(-parts_[a].slack, a) < std::pair(-parts_[b].slack, b);
                         });
        next_.resize(width);
      }
      level = next_;
    }
    return -1;
  }

  /// Appends one stage to a partial plan in all useful ways. Returns the partial plan that places
  /// all layers, or -1.
  std::int32_t extend(std::int32_t parent) {
    const Part part = parts_[parent];
    const std::int32_t layers = task_.chain.size();
    const std::int32_t end = stages_ > 0 ? layers - (stages_ - stage_ - 1) : layers;
    // A stage on larger or more devices is useful only if it gets further than the stages tried
    // before, which use smaller devices and leave larger ones to other stages.
    std::vector<std::pair<std::int32_t, std::int32_t>> tried;  // number of devices, layers placed
    std::int32_t from = DeviceSizes::from(part.left, 0);  // devices left of this size or larger
    for (std::int32_t size = 0; size < sizes_.count(); ++size) {
      if (part.left[size] == 0) continue;
      const std::int32_t most = std::min(replicas_, from);
      from -= part.left[size];
      for (std::int32_t r = 1; r <= most; ++r) {
        std::int32_t known = part.reached;
        for (const auto& [devices, layers_there] : tried) {
          if (devices <= r) known = std::max(known, layers_there);
        }
        ++spent_;
        if (known == end || !fits(part.reached, known + 1, size, most)) break;
        if (!fits(part.reached, known + 1, size, r)) {
          r = least_devices(part.reached, known + 1, size, r, most) - 1;
          continue;
        }
        const std::int32_t last = reach(part.reached, known + 1, end, size, r);
        tried.emplace_back(r, last);
        const std::int32_t made = push(part, parent, size, r, last);
        if (made >= 0 && last == layers && (stages_ == 0 || stage_ + 1 == stages_)) return made;
      }
    }
    return -1;
  }

  /// The least number of devices, more than `few` and at most `most`, that hold these layers.
  std::int32_t least_devices(std::int32_t first, std::int32_t last, std::int32_t size,
                             std::int32_t few, std::int32_t most) const {
    std::int32_t low = few + 1, high = most;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (fits(first, last, size, middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  /// Whether r devices of this size hold the layers as one stage.
  bool fits(std::int32_t first, std::int32_t last, std::int32_t size, std::int32_t r) const {
    const Micro alive =
        schedule_.empty() ? 1 : alive_in(schedule_, stage_, stages_, task_.micro_batches);
    return least_need(stage_need(task_, first, last, r), alive) <= sizes_.memory(size);
  }

  /// The furthest end, at most `end`, of a stage that r devices of this size hold. The end `sure`
  /// is known to fit.
  std::int32_t reach(std::int32_t first, std::int32_t sure, std::int32_t end, std::int32_t size,
                     std::int32_t r) const {
    std::int32_t low = sure, high = end;
    while (low < high) {
      const std::int32_t middle = low + (high - low + 1) / 2;
      if (fits(first, middle, size, r))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  /// Adds a partial plan and returns its index. Returns -1 if the layers left have too little
  /// memory, or if a known partial plan with the same devices left has placed as many layers.
  std::int32_t push(const Part& from, std::int32_t parent, std::int32_t size, std::int32_t r,
                    std::int32_t last) {
    spent_ += 8 + sizes_.count() / 4;
    Part part;
    part.left = from.left;
    sizes_.take(part.left, size, r);
    part.reached = last;
    part.parent = parent;
    part.size = size;
    part.replicas = r;
    if (!has_room(part)) return -1;
    const auto made = static_cast<std::int32_t>(parts_.size());
    const auto [known, is_new] = best_.try_emplace(part.left, last, made);
    if (!is_new) {
      if (known->second.first >= last) return -1;
      known->second = {last, made};
    }
    parts_.push_back(std::move(part));
    next_.push_back(made);
    return made;
  }

  std::vector<PlannedStage> stages_of(std::int32_t end) const {
    std::vector<std::int32_t> path;
    for (std::int32_t at = end; parts_[at].parent >= 0; at = parts_[at].parent) path.push_back(at);
    std::reverse(path.begin(), path.end());
    DeviceSizes::Taker taker(sizes_);
    std::vector<PlannedStage> stages;
    std::int32_t first = 0;
    for (const std::int32_t at : path) {
      const Part& part = parts_[at];
      stages.push_back({first, part.reached, taker.take(part.size, part.replicas), false});
      first = part.reached;
    }
    return stages;
  }

  const Task& task_;
  DeviceSizes sizes_;
  std::int32_t stages_, replicas_ = 1;
  std::string schedule_;
  std::int64_t effort_, spent_ = 0;
  /// Indexed by layer and size: the memory that this layer and all layers after it need. Counts
  /// only layers that do not fit on devices of a smaller size.
  std::vector<double> rest_;
  std::int32_t stage_ = 0;  ///< index of the stage that is being appended
  bool all_ = true;         ///< whether no partial plan was dropped
  std::vector<Part> parts_;
  std::vector<std::int32_t> next_;
  /// For each state of devices left: the most layers placed, and the partial plan that placed them.
  std::unordered_map<DeviceSizes::Left, std::pair<std::int32_t, std::int32_t>> best_;
};

}  // namespace

Fitting fit_stages(const Task& task, const FittingLimits& limits) {
  const std::int32_t most = std::min(task.chain.size(), task.cluster.devices);
  const bool any = limits.schedules.empty() ||
                   std::any_of(limits.schedules.begin(), limits.schedules.end(), adapts_to_memory);
  if (any) return Search(task, limits, limits.stages, "").run();
  Fitting unknown;
  for (const std::string& schedule : limits.schedules) {
    if (schedule == "zb-v" || schedule == "dualpipe-v") continue;  // these need shared devices
    FittingLimits left = limits;
    for (std::int32_t stages = 1; stages <= most && left.effort > 0; ++stages) {
      if (limits.stages > 0 && stages != limits.stages) continue;
      Search search(task, left, stages, schedule);
      Fitting fitting = search.run();
      if (fitting.answer == Fit::kFound) return fitting;
      left.effort -= search.spent();
    }
  }
  return unknown;
}

}  // namespace weft::pipeline
