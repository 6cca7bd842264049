// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/pipeline/verify/capacity.h"
#include "weft/pipeline/verify/nodes.h"
#include "weft/pipeline/verify/rounds.h"
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
    if (plan.limit_memory) fill_trips();
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
    Nanos forward = 0, reduce = 0;
    Way whole, again;
    bool possible = true, too_large = false;

    template <class Time>
    Nanos least(Time time) const {
      return again.fit > 0 ? std::min(time(whole), time(again)) : time(whole);
    }
  };

  std::size_t at(std::int32_t left, std::int32_t layer, std::size_t node) const {
    return (static_cast<std::size_t>(left) * layers_ + layer) * nodes_.size() + node;
  }
  std::int32_t after(std::int32_t left) const { return levels_ > 1 ? left - 1 : 0; }
  bool may_end(std::int32_t left) const { return levels_ == 1 || left == 1; }
  bool may_go_on(std::int32_t left) const { return levels_ == 1 || left > 1; }

  Stage stage(std::int32_t first, std::int32_t last, const Node& node) const {
    Stage stage;
    const Nanos forward = forward_[last] - forward_[first];
    const Nanos later = later_[last] - later_[first];
    const Nanos all = path_[last] - path_[first] + later;
    stage.forward = floor_of(node.work, forward);
    stage.whole.later = floor_of(node.work, later);
    stage.whole.path = floor_of(node.work, all) - stage.whole.later;
    stage.again.path = floor_of(node.work, all + forward);
    const Bytes parameters = parameters_[last] - parameters_[first];
    if (node.replicas > 1 && parameters > 0) {
      stage.possible = node.reduce < kNever;
      if (stage.possible) stage.reduce = floor_of(node.reduce, parameters) + node.reduce_latency;
    }
    set_fits(first, last, node, stage.whole, stage.again);
    stage.too_large = stage.whole.fit == 0;
    stage.possible &= !stage.too_large;
    return stage;
  }

  /// How many micro-batches fit either way; none recomputing where all fit whole.
  void set_fits(std::int32_t first, std::int32_t last, const Node& node, Way& whole,
                Way& again) const {
    whole.fit = plan_.micro_batches;
    again.fit = 0;
    if (!plan_.limit_memory || node.memory == 0) return;
    const auto part = [&](Bytes all) { return (all + node.replicas - 1) / node.replicas; };
    const Bytes kept = part(stash_[last] - stash_[first]), input = part(cuts_[first]);
    const Bytes free = node.memory - plan_.state_factor * (parameters_[last] - parameters_[first]);
    const auto most = [&](Bytes room, Bytes each) -> std::int64_t {
      if (room < each) return 0;
      return each == 0 ? plan_.micro_batches : std::min<Bytes>(room / each, plan_.micro_batches);
    };
    whole.fit = most(free, kept);
    if (whole.fit < plan_.micro_batches) again.fit = most(free - kept, input);
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

  /// The shortest way of one micro-batch there and back from a layer and node on, and behind them.
  void fill_trips() {
    const auto cell = [&](std::int32_t layer, std::size_t n) { return at(0, layer, n); };
    trip_.assign(static_cast<std::size_t>(layers_) * nodes_.size(), kNone);
    rest_trip_ = trip_;
    for (std::int32_t layer = layers_ - 1; layer >= 0; --layer) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].work == 0) continue;
        Nanos least = kNone;
        for (std::int32_t last = layer + 1; last <= layers_; ++last) {
          const Stage own = stage(layer, last, nodes_[n]);
          if (own.too_large || own.whole.path >= least) break;
          const Nanos rest = last < layers_ ? rest_trip_[cell(last, n)] : 0;
          if (own.possible && rest < kNone) least = std::min(least, own.whole.path + rest);
        }
        trip_[cell(layer, n)] = least;
      }
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        for (const Edge& edge : nodes_[n].next) {
          const Nanos rest = trip_[cell(layer, edge.to)];
          if (rest == kNone) continue;
          Nanos& least = rest_trip_[cell(layer, n)];
          least = std::min(least, channel(edge, layer).both + rest);
        }
      }
    }
  }

  /// Least time that the rest can be busy, and that the step can take, each for itself.
  void fill(std::int32_t left, std::int32_t layer) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.work == 0) continue;  // no such node
      Nanos least_busy = kNone, least_step = kNone;
      for (std::int32_t last = layer + 1; last <= layers_; ++last) {
        const Stage own = stage(layer, last, node);
        const std::int64_t count = plan_.micro_batches;
        if (own.too_large ||
            (count * own.whole.path >= least_busy && count * own.whole.work() >= least_step)) {
          break;
        }
        if (!own.possible || (last == layers_ ? !may_end(left) : !may_go_on(left))) continue;
        Nanos rest_busy = 0, rest_step = 0, behind = 0;
        if (last < layers_) {
          rest_busy = rest_busy_[at(after(left), last, n)];
          rest_step = rest_step_[at(after(left), last, n)];
          if (rest_busy == kNone) continue;
          if (plan_.limit_memory) behind = rest_trip_[at(0, last, n)];
        }
        const auto busy = [&](const Way& way) {
          return std::max(busy_time(count, own.forward, way, behind), way.path + rest_busy);
        };
        least_busy = std::min(least_busy, own.least(busy));
        least_step = std::min(least_step, own.least([&](const Way& way) {
          const Nanos done = std::max(count * way.work(), busy(way) + way.later);
          return std::max(done + own.reduce, own.forward + rest_step);
        }));
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
      if (own.too_large) break;
      const Way& whole = own.whole;
      const std::int64_t count = plan_.micro_batches;
      const Nanos base = head + own.reduce;
      const Nanos steep = std::max(slope, base + whole.later);
      const Nanos sure = std::max({known, base + count * whole.work(), steep + count * whole.path});
      if (sure >= claimed_) break;
      if (!own.possible) continue;
      const auto in_memory = [&](Nanos behind) {
        return own.least([&](const Way& way) {
          const Nanos until = busy_time(count, own.forward, way, behind);
          return std::max({base + count * way.work(), base + way.later + until, slope + until});
        });
      };
      if (last == layers_) {
        if (!may_end(left) || in_memory(0) >= claimed_) continue;
        path_taken_.push_back({layer, last, n, nullptr});
        if (bound_of_path() < claimed_) check_.answer = BoundCheck::Answer::kFails;
        path_taken_.pop_back();
        continue;
      }
      if (!may_go_on(left)) continue;
      for (const Edge& edge : node.next) {
        const Channel cost = channel(edge, last);
        Nanos surely = std::max(sure, steep + whole.path + cost.busy);
        if (whole.fit < count && trip_[at(0, last, edge.to)] < kNone) {
          surely = std::max(surely, in_memory(cost.both + trip_[at(0, last, edge.to)]));
        }
        path_taken_.push_back({layer, last, n, &edge});
        go(after(left), last, edge.to, surely, steep + whole.path + cost.both,
           head + own.forward + cost.there);
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

  /// Times as the rules round them.
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
    return std::max(schedule_bound(stages, channels, plan_.micro_batches, later_.back() > 0),
                    memory_bound(stages, channels));
  }

  /// Of the complete plan: every stage in its better way, whatever the others do.
  Nanos memory_bound(const std::vector<BoundStage>& stages,
                     const std::vector<BoundChannel>& channels) const {
    if (!plan_.limit_memory) return 0;
    Nanos head = 0, bound = 0, behind = 0;
    std::vector<Nanos> heads;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      heads.push_back(head);
      if (s < channels.size()) {
        head += stages[s].forward + channels[s].there + channels[s].latency_there;
      }
    }
    for (std::size_t s = stages.size(); s-- > 0;) {
      const BoundStage& times = stages[s];
      const Taken& taken = path_taken_[s];
      if (s < channels.size()) {
        const BoundChannel& cost = channels[s];
        behind += cost.there + cost.latency_there + cost.back + cost.latency_back;
      }
      const Nanos all = times.forward + times.input + times.weight;
      Stage stage;
      stage.whole.later = later_.back() > 0 ? times.weight : 0;
      stage.whole.path = all - stage.whole.later;
      // Forward and backward together are rounded once.
      stage.again.path = all + std::max<Nanos>(times.forward - 1, 0);
      set_fits(taken.first, taken.last, nodes_[taken.node], stage.whole, stage.again);
      bound = std::max(bound, heads[s] + times.reduce + stage.least([&](const Way& way) {
        const Nanos busy = busy_time(plan_.micro_batches, times.forward, way, behind);
        return std::max(plan_.micro_batches * way.work(), busy + way.later);
      }));
      behind += stage.whole.path;
    }
    return bound;
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
  std::vector<Nanos> trip_, rest_trip_;  ///< within limits of memory, for any number of stages
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
