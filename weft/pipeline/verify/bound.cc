// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/pipeline/verify/capacity.h"
#include "weft/pipeline/verify/nodes.h"
#include "weft/pipeline/verify/schedule_bound.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {
namespace {

constexpr Nanos kNone = std::int64_t{1} << 60;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int32_t kMostCounted = 64;
constexpr std::int64_t kMostVisited = 20'000'000;

Nanos floor_of(double rate, std::int64_t amount) {
  return static_cast<Nanos>(rate * static_cast<double>(amount));
}

class Search {
 public:
  Search(const PlanData& plan, std::vector<Node> nodes)
      : plan_(plan),
        nodes_(std::move(nodes)),
        cuts_(plan.cuts()),
        layers_(static_cast<std::int32_t>(plan.layers.size())) {
    for (auto* sums : {&forward_, &path_, &later_}) sums->push_back(0);
    for (auto* sums : {&parameters_, &stash_}) sums->push_back(0);
    for (const LayerData& layer : plan.layers) {
      forward_.push_back(forward_.back() + layer.forward);
      path_.push_back(path_.back() + layer.forward + layer.backward - layer.weight);
      later_.push_back(later_.back() + layer.weight);
      parameters_.push_back(parameters_.back() + layer.parameters);
      stash_.push_back(stash_.back() + layer.stash);
    }
    for (const Node& node : nodes_) {
      if (node.work > 0) quickest_ = std::min(quickest_, node.work);
    }
    levels_ = plan.fixed_stages > 0 ? plan.fixed_stages + 1 : 1;
    busy_.assign(static_cast<std::size_t>(levels_) * layers_ * nodes_.size(), kNone);
    step_ = rest_busy_ = rest_step_ = busy_;
    for (std::int32_t left = levels_ > 1 ? 1 : 0; left < levels_; ++left) {
      for (std::int32_t layer = layers_ - 1; layer >= 0; --layer) {
        fill(left, layer);
        fill_rest(left, layer);
      }
    }
  }

  BoundCheck run(Nanos claimed) {
    claimed_ = claimed;
    check_.least = kNone;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n].first) continue;
      check_.least = std::min(check_.least, step_[at(levels_ - 1, 0, n)]);
      go(levels_ - 1, 0, n, 0, -kNone, 0);
    }
    return check_;
  }

 private:
  struct Stage {
    Nanos forward, path, later, reduce;
    bool possible;
    Nanos work() const { return path + later; }
  };

  std::size_t at(std::int32_t left, std::int32_t layer, std::size_t node) const {
    return (static_cast<std::size_t>(left) * layers_ + layer) * nodes_.size() + node;
  }
  std::int32_t after(std::int32_t left) const { return levels_ > 1 ? left - 1 : 0; }
  bool may_end(std::int32_t left) const { return levels_ == 1 || left == 1; }
  bool may_go_on(std::int32_t left) const { return levels_ == 1 || left > 1; }

  Stage stage(std::int32_t first, std::int32_t last, const Node& node) const {
    Stage stage{};
    stage.forward = floor_of(node.work, forward_[last] - forward_[first]);
    stage.later = floor_of(node.work, later_[last] - later_[first]);
    stage.path = floor_of(node.work, path_[last] - path_[first] + later_[last] - later_[first]) -
                 stage.later;
    const Bytes parameters = parameters_[last] - parameters_[first];
    stage.possible = true;
    if (node.replicas > 1 && parameters > 0) {
      stage.possible = node.reduce < kNever;
      if (stage.possible) stage.reduce = floor_of(node.reduce, parameters) + node.reduce_latency;
    }
    if (plan_.limit_memory && node.memory > 0) {
      const Bytes kept = stash_[last] - stash_[first];
      stage.possible &= plan_.state_factor * parameters + kept / node.replicas <= node.memory;
    }
    return stage;
  }

  struct Channel {
    Nanos there, both, busy;
  };
  Channel channel(const Edge& edge, std::int32_t layer) const {
    const Nanos there = floor_of(edge.there, cuts_[layer]);
    const Nanos back = floor_of(edge.back, cuts_[layer]);
    const Nanos behind = floor_of(quickest_, path_.back() - path_[layer]);
    return {there, there + back + edge.latency(),
            plan_.micro_batches * std::max(there, back) + std::min(there, back) + edge.latency() +
                behind};
  }

  /// Least time that the rest can be busy, and that the step can take, each for itself.
  void fill(std::int32_t left, std::int32_t layer) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.work == 0) continue;  // no such node
      Nanos least_busy = kNone, least_step = kNone;
      for (std::int32_t last = layer + 1; last <= layers_; ++last) {
        const Stage own = stage(layer, last, node);
        const Nanos alone = plan_.micro_batches * own.path;
        const Nanos all = plan_.micro_batches * own.work();
        if (alone >= least_busy && all >= least_step) break;
        if (!own.possible) continue;
        if (last == layers_) {
          if (!may_end(left)) continue;
          least_busy = std::min(least_busy, alone);
          least_step = std::min(least_step, all + own.reduce);
          continue;
        }
        if (!may_go_on(left)) continue;
        const Nanos rest_busy = rest_busy_[at(after(left), last, n)];
        const Nanos rest_step = rest_step_[at(after(left), last, n)];
        if (rest_busy == kNone) continue;
        const Nanos busy = std::max(alone, own.path + rest_busy);
        least_busy = std::min(least_busy, busy);
        least_step = std::min(least_step, std::max(std::max(all, busy + own.later) + own.reduce,
                                                   own.forward + rest_step));
      }
      busy_[at(left, layer, n)] = least_busy;
      step_[at(left, layer, n)] = least_step;
    }
  }

  /// The same behind a stage that ends before the layer.
  void fill_rest(std::int32_t left, std::int32_t layer) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      Nanos least_busy = kNone, least_step = kNone;
      for (const Edge& edge : nodes_[n].next) {
        const Nanos behind = busy_[at(left, layer, edge.to)];
        if (behind == kNone) continue;
        const Channel cost = channel(edge, layer);
        least_busy = std::min(least_busy, std::max(cost.both + behind, cost.busy));
        least_step = std::min(least_step, cost.there + step_[at(left, layer, edge.to)]);
      }
      rest_busy_[at(left, layer, n)] = least_busy;
      rest_step_[at(left, layer, n)] = least_step;
    }
  }

  void go(std::int32_t left, std::int32_t layer, std::size_t n, Nanos known, Nanos slope,
          Nanos head) {
    if (check_.answer != BoundCheck::Answer::kHolds) return;
    const Nanos busy = busy_[at(left, layer, n)];
    if (busy == kNone) return;
    if (std::max({known, slope + busy, head + step_[at(left, layer, n)]}) >= claimed_) return;
    if (++check_.visited > kMostVisited) {
      check_.answer = BoundCheck::Answer::kTooMany;
      return;
    }
    const Node& node = nodes_[n];
    for (std::int32_t last = layer + 1; last <= layers_; ++last) {
      const Stage own = stage(layer, last, node);
      const Nanos base = head + own.reduce;
      const Nanos steep = std::max(slope, base + own.later);
      const Nanos sure = std::max(
          {known, base + plan_.micro_batches * own.work(), steep + plan_.micro_batches * own.path});
      if (sure >= claimed_) break;
      if (!own.possible) continue;
      if (last == layers_) {
        if (!may_end(left)) continue;
        path_taken_.push_back({layer, last, n, nullptr});
        if (bound_of_path() < claimed_) check_.answer = BoundCheck::Answer::kFails;
        path_taken_.pop_back();
        continue;
      }
      if (!may_go_on(left)) continue;
      for (const Edge& edge : node.next) {
        const Channel cost = channel(edge, last);
        path_taken_.push_back({layer, last, n, &edge});
        go(after(left), last, edge.to, std::max(sure, steep + own.path + cost.busy),
           steep + own.path + cost.both, head + own.forward + cost.there);
        path_taken_.pop_back();
      }
    }
  }

  /// Stages of a complete plan and the edges between them.
  struct Taken {
    std::int32_t first, last;
    std::size_t node;
    const Edge* edge;  ///< to the next
  };

  /// Times as the rules round them; stages that recompute only take longer.
  Nanos bound_of_path() const {
    std::vector<BoundStage> stages;
    std::vector<BoundChannel> channels;
    for (std::size_t i = 0; i < path_taken_.size(); ++i) {
      const auto& [first, last, n, edge] = path_taken_[i];
      const Node& node = nodes_[n];
      const auto time = [&](Nanos sum) {
        return std::llround(static_cast<double>(sum) * node.work);
      };
      const Nanos forward = forward_[last] - forward_[first];
      const Nanos later = later_[last] - later_[first];
      const Nanos backward = path_[last] - path_[first] - forward + later;
      const Bytes parameters = parameters_[last] - parameters_[first];
      BoundStage stage{time(forward), time(backward) - time(later), time(later), 0};
      if (node.replicas > 1 && parameters > 0) {
        stage.reduce =
            std::llround(node.reduce * static_cast<double>(parameters)) + node.reduce_latency;
      }
      stages.push_back(stage);
      if (!edge) break;
      const auto bytes = static_cast<double>(cuts_[last]);
      BoundChannel channel{std::llround(edge->there * bytes),
                           std::llround(edge->back * bytes),
                           edge->latency_there,
                           edge->latency_back,
                           {},
                           {}};
      const auto &own = node.devices, &next = nodes_[edge->to].devices;
      if (!own.empty() && !next.empty()) {
        channel.shared_there = links_held(plan_, own, next);
        channel.shared_back = links_held(plan_, next, own);
      }
      channels.push_back(std::move(channel));
    }
    return schedule_bound(stages, channels, plan_.micro_batches, later_.back() > 0);
  }

  const PlanData& plan_;
  std::vector<Node> nodes_;
  std::vector<Taken> path_taken_;
  std::vector<Bytes> cuts_;
  std::int32_t layers_, levels_ = 1;
  std::vector<Nanos> forward_, path_, later_;
  std::vector<Bytes> parameters_, stash_;
  double quickest_ = kNever;
  std::vector<Nanos> busy_, step_, rest_busy_, rest_step_;
  Nanos claimed_ = 0;
  BoundCheck check_;
};

/// All devices busy all the time.
Nanos least_work(const PlanData& plan) {
  double work = 0, speed = 0;
  for (const LayerData& layer : plan.layers) {
    work += static_cast<double>(layer.forward + layer.backward);
  }
  for (const double each : plan.speed) speed += each;
  // Times are rounded, by more than nothing may take.
  const Nanos hidden = 4 * static_cast<Nanos>(plan.devices) * plan.micro_batches;
  return std::max<Nanos>(static_cast<Nanos>(work * plan.micro_batches / speed) - hidden, 0);
}

}  // namespace

BoundCheck check_bound(const PlanData& plan, Nanos claimed) {
  const Nanos work = least_work(plan);
  if (claimed <= work) return {BoundCheck::Answer::kHolds, work, 0};
  if (plan.devices > kMostCounted) return {BoundCheck::Answer::kTooMany, work, 0};
  if (lacks_speed(plan, claimed)) return {BoundCheck::Answer::kHolds, claimed, 0};
  return Search(plan, device_nodes(plan)).run(claimed);
}

Nanos bound_of_all(const PlanData& plan) {
  double path = 0, speed = 0;
  for (const LayerData& layer : plan.layers) {
    path += static_cast<double>(layer.forward + layer.backward - layer.weight);
  }
  for (const double each : plan.speed) speed += each;
  const auto rounding = 2 * static_cast<Nanos>(plan.layers.size());
  return std::max(least_work(plan), static_cast<Nanos>(path / speed) - rounding);
}

}  // namespace weft::pipeline::verify
