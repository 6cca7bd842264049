// SPDX-License-Identifier: Apache-2.0
// capacity_bound() bisects over the step T and asks Capacity::may_take(T) each time. may_take() is
// a dynamic program over the layers. Its state is the layer that the next stage starts with and the
// idle time o of that stage, rounded down to a grid of steps of T / (parts * M); its value is the
// least total speed that the stages so far can use. One pass of add_stage() appends one stage.
//
// Every rounding favors feasibility. Idle times are rounded down. A stage may get more speed than
// it needs, by a factor. If this factor lies between two elements of kSpeedFactors, the stage uses
// up speed as with the lower element, but is as fast as with the higher element. So "not feasible"
// is a proof, and the result is a valid lower bound.
#include "weft/pipeline/plan/capacity.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
/// By which factor the speed of a stage may exceed the speed that the stage needs. The comment at
/// the top of this file says how factors between two elements are rounded.
constexpr std::array<double, 8> kSpeedFactors = {1, 1.1, 1.25, 1.5, 2, 3, 6, kUnlimited};
/// The inverses of kSpeedFactors: the factors for the time of the stage.
constexpr std::array<double, 8> kTimeFactors = {1,       1 / 1.1, 1 / 1.25, 1 / 1.5,
                                                1 / 2.0, 1 / 3.0, 1 / 6.0,  0};
constexpr double kMostParts = 1e6;  ///< above any grid index, so that the cast below is safe
/// The grid of idle times ends at kMostCovered / M of the step; longer idle times are rounded down
/// to this end.
constexpr std::int32_t kMostCovered = 32;
constexpr std::int32_t kCoarser = 4;  ///< factor between the grids of the first and second pass
/// Up to this number of devices a planning must end within 100 ms, so the grid is coarser.
constexpr std::int32_t kQuick = 16;
constexpr double kTolerance = 1e-12;  ///< for rounding errors of quotients
constexpr int kHalvings = 16;         ///< number of steps of the bisection

class Capacity {
 public:
  Capacity(const Task& task, const std::vector<GroupCost>& replicas, std::int32_t stages)
      : replicas_(replicas),
        layers_(task.chain.size()),
        stages_(stages),
        micros_(task.micro_batches),
        speed_(most_speed(task.cluster.speed)),
        parts_(task.cluster.devices <= kQuick ? 8 : 32),
        covered_(std::min(kMostCovered, task.micro_batches)) {
    const LayerChain& chain = task.chain;
    for (std::int32_t i = 0; i <= layers_; ++i) {
      work_.push_back(static_cast<double>(chain.forward[i] + chain.backward[i]));
      path_.push_back(static_cast<double>(chain.forward[i] + chain.backward[i] - chain.weight[i]));
      bytes_.push_back(static_cast<double>(chain.parameters[i]));
    }
    for (std::int32_t i = 0; i < layers_; ++i) {
      const double forward = static_cast<double>(chain.forward[i + 1] - chain.forward[i]);
      const double path = path_[i + 1] - path_[i];
      if (path > 0) forward_part_ = std::min(forward_part_, forward / path);
    }
  }

  /// Whether a step of this length may be possible. The answer false is a proof that it is not. A
  /// coarse grid that ignores the number of stages is tried first. If it rules the step out, the
  /// fine grid is not needed.
  bool may_take(double step) {
    return may_take(step, parts_ / kCoarser, true) && may_take(step, parts_, false);
  }

 private:
  /// If `any_number` is set, stages are not counted. Then every number of stages may use the total
  /// speed that only the largest number can have.
  bool may_take(double step, std::int32_t parts, bool any_number) {
    step_ = step;
    waits_ = covered_ * parts;
    wait_ = step / (parts * micros_);
    const std::int32_t groups = static_cast<std::int32_t>(speed_.size()) - 1;
    const std::int32_t most = std::min(stages_ > 0 ? stages_ : layers_, groups);
    limit_ = speed_[most];
    used_.assign(cells(), kUnlimited);
    used_[0] = 0;
    if (any_number) return add_stages(limit_);
    for (std::int32_t stage = 1; stage <= most; ++stage) {
      // With this number of stages or more, the total speed grows no further. So one table is
      // enough for all larger numbers of stages.
      if (stages_ == 0 && speed_[stage] >= limit_) return add_stages(speed_[stage]);
      next_.assign(cells(), kUnlimited);
      if (add_stage(used_, next_, stages_ == 0 || stage == stages_ ? speed_[stage] : -1)) {
        return true;
      }
      used_.swap(next_);
    }
    return false;
  }

  std::size_t cells() const { return static_cast<std::size_t>(layers_) * waits_; }

  /// Appends any number of stages: the pass reads the entries that it has just written.
  bool add_stages(double allowed) { return add_stage(used_, used_, allowed); }

  /// Appends one stage to every state. Returns true if a stage can reach the last layer with a
  /// total speed of at most `allowed`. If `allowed` is -1, the stage must not be the last stage.
  bool add_stage(const std::vector<double>& before, std::vector<double>& behind, double allowed) {
    for (std::int32_t first = 0; first < layers_; ++first) {
      const double path = micros_ * (path_.back() - path_[first]);
      const double work = micros_ * (work_.back() - work_[first]);
      // A state with more idle time is worth extending only if it has used less speed (dominance).
      double least = kUnlimited;
      for (std::int32_t wait = 0; wait < waits_; ++wait) {
        const double used = before[static_cast<std::size_t>(first) * waits_ + wait];
        if (used >= least) continue;
        least = used;
        const double waited = wait * wait_;
        // Prune: the layers left need at least this speed, even if no later stage idles longer.
        if (used + path / (step_ - waited) > limit_) continue;
        if (used + work / (step_ - forward_part_ * waited) > limit_) continue;
        if (extend(first, wait, used, allowed, behind)) return true;
      }
    }
    return false;
  }

  /// Appends one stage of every possible length to one state. Returns the same as add_stage().
  bool extend(std::int32_t first, std::int32_t wait, double used, double allowed,
              std::vector<double>& behind) const {
    const double waited = wait * wait_;
    const double for_path = micros_ / (step_ - waited), left = step_ - forward_part_ * waited;
    std::size_t r = 0;  // not reset in the loop, because longer stages never need fewer replicas
    for (std::int32_t last = first + 1; last <= layers_; ++last) {
      const double path = path_[last] - path_[first];
      const double need = need_of(path * for_path, micros_ * (work_[last] - work_[first]),
                                  bytes_[last] - bytes_[first], left, r);
      if (used + need > limit_) return false;
      if (last == layers_) return used + need <= allowed;
      // How many grid steps the stage adds to the idle time if it has just the speed that it needs.
      // The number is slightly reduced, so that rounding errors cannot push the idle time to the
      // next step.
      const double passed = path > 0 ? (1 - kTolerance) * path / (need * wait_) : 0;
      double* known = behind.data() + static_cast<std::size_t>(last) * waits_;
      for (std::size_t f = 0; f + 1 < kSpeedFactors.size(); ++f) {
        const double with = used + kSpeedFactors[f] * need;
        if (with > limit_) break;
        const double added = std::min(passed * kTimeFactors[f + 1], kMostParts);
        const auto then = std::min(waits_ - 1, wait + static_cast<std::int32_t>(added));
        known[then] = std::min(known[then], with);
      }
    }
    return false;
  }

  /// The least speed that the stage needs, with the fewest replicas that can provide it. `r` is an
  /// index into replicas_. The search starts there, and `r` becomes the index of the number of
  /// replicas that was found.
  double need_of(double for_path, double work, double bytes, double left, std::size_t& r) const {
    for (; r < replicas_.size(); ++r) {
      const GroupCost& cost = replicas_[r];
      const double reduce =
          r > 0 && bytes > 0 ? cost.reduce * bytes + static_cast<double>(cost.reduce_latency) : 0;
      if (left <= reduce) break;
      const double need = std::max(for_path, work / (left - reduce));
      if (need * cost.work <= 1 + kTolerance) return need;
    }
    r = replicas_.size();
    return kUnlimited;
  }

  const std::vector<GroupCost>& replicas_;
  std::int32_t layers_, stages_;
  double micros_;
  std::vector<double> speed_;
  std::int32_t parts_;  ///< grid steps per T / M (T: step, M: micro-batches)
  /// The grid of idle times ends at this many times T / M (T: step, M: micro-batches).
  std::int32_t covered_;
  std::int32_t waits_ = 0;                   ///< grid points: possible idle times
  std::vector<double> work_, path_, bytes_;  ///< prefix sums over the layers
  /// The path of a layer is its forward and the gradient of its input. This is the least share of
  /// the forward in it, over all layers.
  double forward_part_ = 1;
  double step_ = 0;  ///< T
  double wait_ = 0;  ///< idle time per grid step
  /// The total speed that the largest number of stages can have.
  double limit_ = 0;
  std::vector<double> used_, next_;  ///< least speed, at [layer * waits + wait]
};

}  // namespace

std::vector<double> most_speed(const std::vector<double>& speeds) {
  std::vector<double> sorted = speeds;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::size_t count = sorted.size();
  // of[i]: the most speed that `groups` ranges of the i fastest devices have. The speed of a range
  // is the number of its devices times the speed of its slowest device. `end` counts downwards, so
  // of[begin] still has its value for the previous number of groups.
  std::vector<double> most(count + 1, 0), of(count + 1, 0);
  for (std::size_t groups = 1; groups <= count; ++groups) {
    for (std::size_t end = count; end > 0; --end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        of[end] = std::max(of[end], of[begin] + static_cast<double>(end - begin) * sorted[end - 1]);
      }
    }
    most[groups] = *std::max_element(of.begin(), of.end());
  }
  return most;
}

Nanos capacity_bound(const Task& task, const std::vector<GroupCost>& replicas, std::int32_t stages,
                     Nanos low, Nanos high) {
  Capacity capacity(task, replicas, stages);
  // Simulated times are rounded to whole nanoseconds per stage and micro-batch. Rounding can
  // shorten a step by up to this much.
  const Nanos rounding = 4 * static_cast<Nanos>(task.cluster.devices) * task.micro_batches;
  Nanos bound = low;
  // Often `low` cannot be raised at all. So the first probe is just above it.
  const Nanos fine = task.cluster.devices <= kQuick ? 512 : 4096;
  Nanos middle = bound + bound / fine + 1;
  for (int i = 0; i < kHalvings && high - bound > bound / fine; ++i) {
    if (capacity.may_take(static_cast<double>(middle + rounding)))
      high = middle - 1;
    else
      bound = middle;
    middle = bound + (high - bound + 1) / 2;
  }
  return bound;
}

}  // namespace weft::pipeline
