// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/capacity.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
/// Times the speed that a stage needs; between two of them it is given the first and as quick as
/// with the second.
constexpr std::array<double, 8> kMore = {1, 1.1, 1.25, 1.5, 2, 3, 6, kNothing};
constexpr std::int32_t kMostCovered =
    32;                               ///< micro-batches whose parts of the step may be waited for
constexpr std::int32_t kQuick = 16;   ///< devices up to which an answer must come soon
constexpr double kTolerance = 1e-12;  ///< of quotients
constexpr int kHalvings = 16;

class Capacity {
 public:
  Capacity(const Task& task, const std::vector<GroupCost>& replicas, std::int32_t stages)
      : chain_(task.chain),
        replicas_(replicas),
        stages_(stages),
        micros_(task.micro_batches),
        speed_(most_speed(task.cluster.speed)),
        parts_(task.cluster.devices <= kQuick ? 8 : 32),
        waits_(std::min(kMostCovered, task.micro_batches) * parts_) {
    for (std::int32_t i = 0; i < chain_.size(); ++i) {
      const double forward = static_cast<double>(chain_.forward[i + 1] - chain_.forward[i]);
      const double path = path_of(i, i + 1);
      if (path > 0) forward_part_ = std::min(forward_part_, forward / path);
    }
  }

  bool may_take(double step) {
    step_ = step;
    wait_ = step / (parts_ * micros_);
    const std::int32_t groups = static_cast<std::int32_t>(speed_.size()) - 1;
    const std::int32_t most = std::min(stages_ > 0 ? stages_ : chain_.size(), groups);
    limit_ = speed_[most];
    used_.assign(cells(), kNothing);
    used_[0] = 0;
    for (std::int32_t stage = 1; stage <= most; ++stage) {
      next_.assign(cells(), kNothing);
      const double allowed = stages_ == 0 || stage == stages_ ? speed_[stage] : -1;
      // From here on more stages have no more speed: one table holds them all.
      const bool any = stages_ == 0 && speed_[stage] >= limit_;
      if (any) next_.swap(used_);
      if (add_stage(any ? next_ : used_, allowed)) return true;
      if (any) break;
      used_.swap(next_);
    }
    return false;
  }

 private:
  std::size_t cells() const { return static_cast<std::size_t>(chain_.size()) * waits_; }
  double work_of(std::int32_t first, std::int32_t last) const {
    return static_cast<double>(chain_.forward[last] - chain_.forward[first] +
                               chain_.backward[last] - chain_.backward[first]);
  }
  double path_of(std::int32_t first, std::int32_t last) const {
    return work_of(first, last) - static_cast<double>(chain_.weight[last] - chain_.weight[first]);
  }

  /// One stage more, behind all there are; true where it is the last one and keeps to `allowed`.
  bool add_stage(const std::vector<double>& before, double allowed) {
    for (std::int32_t first = 0; first < chain_.size(); ++first) {
      const double rest = micros_ * path_of(first, chain_.size());
      double least = kNothing;  // who waits longer must have used less
      for (std::int32_t wait = 0; wait < waits_; ++wait) {
        const double used = before[static_cast<std::size_t>(first) * waits_ + wait];
        if (used >= least) continue;
        least = used;
        if (used + rest / (step_ - wait * wait_) > limit_) continue;
        if (extend(first, wait, used, allowed)) return true;
      }
    }
    return false;
  }

  bool extend(std::int32_t first, std::int32_t wait, double used, double allowed) {
    const double waited = wait * wait_;
    std::size_t r = 0;  // longer stages need no fewer replicas
    for (std::int32_t last = first + 1; last <= chain_.size(); ++last) {
      const double path = path_of(first, last);
      const double need = need_of(first, last, waited, r);
      if (r == replicas_.size() || used + need > limit_) return false;
      if (last == chain_.size()) return used + need <= allowed;
      for (std::size_t more = 0; more + 1 < kMore.size(); ++more) {
        const double with = used + kMore[more] * need;
        if (with > limit_) break;
        const double passed = path > 0 ? path / (kMore[more + 1] * need) : 0;
        const auto then =
            std::min(waits_ - 1, static_cast<std::int32_t>((waited + passed) / wait_));
        double& known = next_[static_cast<std::size_t>(last) * waits_ + then];
        known = std::min(known, with);
      }
    }
    return false;
  }

  /// The least speed that a stage can do with, and the replicas less one that it takes.
  double need_of(std::int32_t first, std::int32_t last, double waited, std::size_t& r) const {
    const auto bytes = static_cast<double>(chain_.parameters[last] - chain_.parameters[first]);
    for (; r < replicas_.size(); ++r) {
      const GroupCost& cost = replicas_[r];
      const double reduce =
          r > 0 && bytes > 0 ? cost.reduce * bytes + static_cast<double>(cost.reduce_latency) : 0;
      const double left = step_ - forward_part_ * waited - reduce;
      if (left <= 0) break;
      const double need = std::max(micros_ * path_of(first, last) / (step_ - waited),
                                   micros_ * work_of(first, last) / left);
      if (need * cost.work <= 1 + kTolerance) return need;
    }
    r = replicas_.size();
    return kNothing;
  }

  const LayerChain& chain_;
  const std::vector<GroupCost>& replicas_;
  std::int32_t stages_;
  double micros_;
  std::vector<double> speed_;
  std::int32_t parts_;  ///< of what one of M micro-batches has of the step
  std::int32_t waits_;
  double forward_part_ = 1;  ///< of a path, at least
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
