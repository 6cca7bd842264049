// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/capacity.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
/// Times the speed that a stage needs; between two of them it is given the first and as quick as
/// with the second.
constexpr std::array<double, 8> kMore = {1, 1.1, 1.25, 1.5, 2, 3, 6, kUnlimited};
/// What each of them leaves of a time.
constexpr std::array<double, 8> kLess = {1,       1 / 1.1, 1 / 1.25, 1 / 1.5,
                                         1 / 2.0, 1 / 3.0, 1 / 6.0,  0};
constexpr double kMostParts = 1e6;  ///< more than there are
constexpr std::int32_t kMostCovered =
    32;                               ///< micro-batches whose parts of the step may be waited for
constexpr std::int32_t kCoarser = 4;  ///< a first look
constexpr std::int32_t kQuick = 16;   ///< devices up to which an answer must come soon
constexpr double kTolerance = 1e-12;  ///< of quotients
constexpr int kHalvings = 16;

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

  /// What waits rounded to few steps rule out, or as many groups as one likes, need not be looked
  /// at closely.
  bool may_take(double step) {
    return may_take(step, parts_ / kCoarser, true) && may_take(step, parts_, false);
  }

 private:
  /// `any`: each number of stages has as much speed as the largest one.
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
      // From here on more stages have no more speed: one table holds them all.
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

  /// As many as one likes.
  bool add_stages(double allowed) { return add_stage(used_, used_, allowed); }

  /// One stage more, behind all there are; true where it is the last one and keeps to `allowed`.
  bool add_stage(const std::vector<double>& before, std::vector<double>& behind, double allowed) {
    for (std::int32_t first = 0; first < layers_; ++first) {
      const double path = micros_ * (path_.back() - path_[first]);
      const double work = micros_ * (work_.back() - work_[first]);
      double least = kUnlimited;  // who waits longer must have used less
      for (std::int32_t wait = 0; wait < waits_; ++wait) {
        const double used = before[static_cast<std::size_t>(first) * waits_ + wait];
        if (used >= least) continue;
        least = used;
        const double waited = wait * wait_;
        // The rest needs as much as if all of it waited no longer.
        if (used + path / (step_ - waited) > limit_) continue;
        if (used + work / (step_ - forward_part_ * waited) > limit_) continue;
        if (extend(first, wait, used, allowed, behind)) return true;
      }
    }
    return false;
  }

  bool extend(std::int32_t first, std::int32_t wait, double used, double allowed,
              std::vector<double>& behind) const {
    const double waited = wait * wait_;
    const double for_path = micros_ / (step_ - waited), left = step_ - forward_part_ * waited;
    std::size_t r = 0;  // longer stages need no fewer replicas
    for (std::int32_t last = first + 1; last <= layers_; ++last) {
      const double path = path_[last] - path_[first];
      const double need = need_of(path * for_path, micros_ * (work_[last] - work_[first]),
                                  bytes_[last] - bytes_[first], left, r);
      if (used + need > limit_) return false;
      if (last == layers_) return used + need <= allowed;
      // With no more than it needs; a little less, so that rounding takes nothing away.
      const double passed = path > 0 ? (1 - kTolerance) * path / (need * wait_) : 0;
      double* known = behind.data() + static_cast<std::size_t>(last) * waits_;
      for (std::size_t more = 0; more + 1 < kMore.size(); ++more) {
        const double with = used + kMore[more] * need;
        if (with > limit_) break;
        const auto then = std::min(waits_ - 1, wait + static_cast<std::int32_t>(std::min(
                                                          passed * kLess[more + 1], kMostParts)));
        known[then] = std::min(known[then], with);
      }
    }
    return false;
  }

  /// The least speed that a stage can do with; `r` is the replicas less one that it takes.
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
  std::int32_t parts_;  ///< of what one of M micro-batches has of the step
  std::int32_t covered_;
  std::int32_t waits_ = 0;
  std::vector<double> work_, path_, bytes_;  ///< of all layers before
  double forward_part_ = 1;                  ///< of a path, at least
  double step_ = 0, wait_ = 0, limit_ = 0;
  std::vector<double> used_, next_;  ///< least speed, [layer * waits + wait]
};

}  // namespace

std::vector<double> most_speed(const std::vector<double>& speeds) {
  std::vector<double> sorted = speeds;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::size_t count = sorted.size();
  std::vector<double> most(count + 1, 0), of(count + 1, 0);  // of the first so many devices
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
  // What rounding of times to whole nanoseconds may hide.
  const Nanos rounding = 4 * static_cast<Nanos>(task.cluster.devices) * task.micro_batches;
  Nanos bound = low;
  // Often there is nothing to gain, which one try tells.
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
