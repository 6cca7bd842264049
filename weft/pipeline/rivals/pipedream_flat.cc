// SPDX-License-Identifier: Apache-2.0
// possible() goes through the ideals from small to large. The key of an ideal is C + a P, see the
// header. For each ideal, possible() first takes the maximum of the keys of its direct
// predecessors, then decides with how many machines the ideal is reachable, and finally adds the
// ideal's own keys. If the whole graph is reachable, found() walks back from it: it picks a last
// stage that fits, finds the ideal that provided the key, and continues from this ideal.
#include "weft/pipeline/rivals/pipedream_flat.h"

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
/// The bisection stops when its interval is this many nanoseconds wide. Answers are rounded to
/// whole nanoseconds.
constexpr double kFine = 1e-4;

class FlatSearch {
 public:
  FlatSearch(const Ideals& ideals, const PipedreamLevel& level)
      : ideals_(ideals),
        machines_(level.machines),
        per_byte_(1e9 / static_cast<double>(level.bandwidth)),
        pairs_(flat_numbers(level.machines)),
        reached_(ideals.size() * static_cast<std::size_t>(machines_)),
        keys_(ideals.size() * pairs_) {}

  FlatPlan run() {
    const std::size_t all = ideals_.size() - 1;
    FlatPlan best{first_stage(all, machines_), {{-1, all, machines_}}};
    double low = static_cast<double>(ideals_.compute[all]) / machines_;
    while (best.bottleneck - low > kFine) {
      limit_ = (low + best.bottleneck) / 2;
      if (possible()) {
        best = found();
      } else {
        low = limit_;
      }
    }
    return best;
  }

 private:
  /// Index of a pair (machines before a stage, replicas of the stage) whose sum is at most
  /// machines_.
  std::size_t pair(std::int32_t before, std::int32_t replicas) const {
    const auto b = static_cast<std::size_t>(before - 1), m = static_cast<std::size_t>(machines_);
    return b * m - b * (b + 1) / 2 + static_cast<std::size_t>(replicas - 1);
  }
  double* keys(std::size_t set) { return keys_.data() + set * pairs_; }
  bool reached(std::size_t set, std::int32_t machines) const {
    return reached_[set * static_cast<std::size_t>(machines_) + machines - 1] != 0;
  }

  /// The all-reduce time of a stage, multiplied by its number of replicas.
  double sync(Bytes parameters, std::int32_t replicas) const {
    return 4.0 * (replicas - 1) * static_cast<double>(parameters) * per_byte_ / replicas;
  }
  /// C + a P of an ideal: its compute time plus the all-reduce time of its parameters. The comment
  /// at the top of the header explains it.
  double key(std::size_t set, std::int32_t replicas) const {
    return static_cast<double>(ideals_.compute[set]) + sync(ideals_.parameters[set], replicas);
  }
  double first_stage(std::size_t to, std::int32_t replicas) const {
    return key(to, replicas) / replicas;
  }
  double cut(std::size_t set, std::int32_t replicas) const {
    if (set + 1 == ideals_.size()) return 0;
    return 2.0 * static_cast<double>(ideals_.output[set]) * per_byte_ / replicas;
  }
  double stage(const FlatStage& stage) const {
    if (stage.from < 0) return first_stage(stage.to, stage.replicas);
    const auto from = static_cast<std::size_t>(stage.from);
    const double time =
        (key(stage.to, stage.replicas) - key(from, stage.replicas)) / stage.replicas;
    return std::max({time, cut(from, stage.replicas), cut(stage.to, stage.replicas)});
  }

  /// Computes, for each ideal, with which numbers of machines its layers can run if no stage takes
  /// longer than the limit. Returns whether the whole graph can run on all machines.
  bool possible() {
    for (std::size_t set = 0; set < ideals_.size(); ++set) {
      double* own = keys(set);
      std::fill(own, own + pairs_, kNothing);
      for (std::uint32_t i = ideals_.before_start[set]; i < ideals_.before_start[set + 1]; ++i) {
        const double* within = keys(ideals_.before[i]);
        for (std::size_t k = 0; k < pairs_; ++k) own[k] = std::max(own[k], within[k]);
      }
      reach(set);
    }
    return reached(ideals_.size() - 1, machines_);
  }

  /// Decides with which numbers of machines an ideal can run within the limit. Before the call,
  /// keys(set) is the maximum over all ideals inside this one. After the call, it includes this
  /// ideal.
  void reach(std::size_t set) {
    // The pointer is shifted by one, so that reached[m] is the entry for m machines.
    char* const reached = reached_.data() + set * static_cast<std::size_t>(machines_) - 1;
    for (std::int32_t m = 1; m <= machines_; ++m) reached[m] = first_stage(set, m) <= limit_;
    for (std::int32_t r = 1; r < machines_; ++r) {
      if (cut(set, r) > limit_) continue;
      const double least = key(set, r) - r * limit_;
      for (std::int32_t b = 1; b + r <= machines_; ++b) {
        if (keys(set)[pair(b, r)] >= least) reached[b + r] = 1;
      }
    }
    for (std::int32_t r = 1; r < machines_; ++r) {
      if (cut(set, r) > limit_) continue;
      for (std::int32_t b = 1; b + r <= machines_; ++b) {
        double& most = keys(set)[pair(b, r)];
        if (reached[b]) most = std::max(most, key(set, r));
      }
    }
  }

  /// The plan whose existence possible() has shown, recovered from its last stage backwards.
  FlatPlan found() {
    FlatPlan plan;
    std::size_t to = ideals_.size() - 1;
    for (std::int32_t m = machines_; m > 0;) {
      FlatStage last{-1, to, m};
      if (first_stage(to, m) > limit_) last = last_stage(to, m);
      plan.bottleneck = std::max(plan.bottleneck, stage(last));
      plan.stages.insert(plan.stages.begin(), last);
      m -= last.replicas;
      to = static_cast<std::size_t>(std::max<std::int64_t>(last.from, 0));
    }
    return plan;
  }

  /// A last stage up to ideal `to` that keeps to the limit. `machines` is the number of machines of
  /// this stage and all stages before it.
  FlatStage last_stage(std::size_t to, std::int32_t machines) {
    for (std::int32_t r = 1; r < machines; ++r) {
      if (cut(to, r) > limit_) continue;
      const std::size_t at = pair(machines - r, r);
      for (std::uint32_t i = ideals_.before_start[to]; i < ideals_.before_start[to + 1]; ++i) {
        const std::size_t within = ideals_.before[i];
        if (keys(within)[at] < key(to, r) - r * limit_) continue;
        return {static_cast<std::int64_t>(holder(within, machines - r, r)), to, r};
      }
    }
    return {-1, to, machines};
  }

  /// keys(set) is a maximum over `set` and all ideals inside it. Returns the ideal that has this
  /// maximum.
  std::size_t holder(std::size_t set, std::int32_t before, std::int32_t replicas) {
    const std::size_t at = pair(before, replicas);
    while (!reached(set, before) || cut(set, replicas) > limit_ ||
           key(set, replicas) < keys(set)[at]) {
      const auto begin = ideals_.before.begin() + ideals_.before_start[set];
      const auto end = ideals_.before.begin() + ideals_.before_start[set + 1];
      set = *std::find_if(begin, end,
                          [&](std::uint32_t within) { return keys(within)[at] >= keys(set)[at]; });
    }
    return set;
  }

  const Ideals& ideals_;
  std::int32_t machines_;
  double per_byte_;
  std::size_t pairs_;
  double limit_ = 0;
  std::vector<char> reached_;  ///< by ideal, then machines
  std::vector<double> keys_;   ///< by ideal, then pair(): maximum over the ideals inside
};

}  // namespace

std::size_t flat_numbers(std::int32_t machines) {
  return static_cast<std::size_t>(machines) * static_cast<std::size_t>(machines - 1) / 2;
}

FlatPlan solve_flat(const Ideals& ideals, const PipedreamLevel& level) {
  return FlatSearch(ideals, level).run();
}

}  // namespace weft::pipeline
