// SPDX-License-Identifier: Apache-2.0
// A plan is a path through nodes: each node is a stage's set of devices (nodes.h), and a stage also
// says which layers it has. First, dynamic programming over (layer, node), from the last layer to
// the first, computes the least time that the rest of any plan can take. Then the search extends
// partial plans stage by stage and drops those whose own time plus that least time already reaches
// the claimed bound. If a complete plan is not dropped, bound_of_path() computes a tighter bound
// for it. If this bound is below the claim too, the claim is not proved. All times are rounded
// down, so that they are never above what the simulator would compute.
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

/// Means that there is no plan. The value is far above any time, but the sum of two such values
/// does not overflow.
constexpr Nanos kNone = std::int64_t{1} << 60;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int32_t kMostCounted = 64;
constexpr std::int64_t kMostVisited = 20'000'000;

/// Rounds down, so that the bound is never above what the simulator computes.
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
    // If the number of stages is fixed, the tables have one level for each number of stages that
    // are left; otherwise one level serves for all.
    levels_ = plan.fixed_stages > 0 ? plan.fixed_stages + 1 : 1;
    busy_.assign(static_cast<std::size_t>(levels_) * layers_ * nodes_.size(), kNone);
    step_ = rest_busy_ = rest_step_ = busy_;
    if (plan.limit_memory) fill_trips();
    // From the last layer to the first: the time of the rest must be known before a stage is added.
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
      // The tables alone already prove this bound, even if the search gives up.
      check_.least = std::min(check_.least, step_[at(levels_ - 1, 0, n)]);
      extend(levels_ - 1, 0, n, 0, -kNone, 0);
    }
    return check_;
  }

 private:
  struct Stage {
    Nanos forward = 0, reduce = 0;
    StageMode whole, again;  // `whole` keeps all activations, `again` recomputes them
    bool possible = true, too_large = false;

    /// The shorter time of the two modes. A stage may run in either mode, so the bound takes the
    /// shorter time.
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
  bool may_continue(std::int32_t left) const { return levels_ == 1 || left > 1; }

  Stage stage(std::int32_t first, std::int32_t last, const Node& node) const {
    Stage stage;
    const Nanos forward = forward_[last] - forward_[first];
    const Nanos later = later_[last] - later_[first];
    const Nanos all = path_[last] - path_[first] + later;
    stage.forward = floor_of(node.work, forward);
    stage.whole.later = floor_of(node.work, later);
    stage.whole.path = floor_of(node.work, all) - stage.whole.later;
    // A stage that recomputes runs an additional forward. Its backward stays whole, so no part of
    // it can run later.
    stage.again.path = floor_of(node.work, all + forward);
    const Bytes parameters = parameters_[last] - parameters_[first];
    if (node.replicas > 1 && parameters > 0) {
      stage.possible = node.reduce < kInfinite;
      if (stage.possible) stage.reduce = floor_of(node.reduce, parameters) + node.reduce_latency;
    }
    set_fits(first, last, node, stage.whole, stage.again);
    stage.too_large = stage.whole.fit == 0;
    stage.possible &= !stage.too_large;
    return stage;
  }

  /// Sets how many micro-batches fit into memory in each mode. If all micro-batches fit without
  /// recomputation, recomputation would only take longer, so `again.fit` is set to 0.
  void set_fits(std::int32_t first, std::int32_t last, const Node& node, StageMode& whole,
                StageMode& again) const {
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

  /// Transfer to the next stage (there), the round trip with latencies (both), and the least time
  /// of all transfers of the channel plus one micro-batch through the rest (busy).
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

  /// Fills trip_ and rest_trip_. trip_ is the shortest time in which one micro-batch passes a stage
  /// that starts at a layer and all later stages, forward and back. rest_trip_ is the shortest time
  /// for the later stages only, with the channel to them. If its memory is full, a stage waits at
  /// least this long until a micro-batch comes back and frees memory.
  void fill_trips() {
    const auto cell = [&](std::int32_t layer, std::size_t n) { return at(0, layer, n); };
    trip_.assign(static_cast<std::size_t>(layers_) * nodes_.size(), kNone);
    rest_trip_ = trip_;
    for (std::int32_t layer = layers_ - 1; layer >= 0; --layer) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].work == 0) continue;
        Nanos least = kNone;
        for (std::int32_t last = layer + 1; last <= layers_; ++last) {
          // Longer stages need more time and memory, so no later end can be better.
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

  /// Fills busy_ and step_: over all plans of the layers from `layer` on, the least time that they
  /// are busy, and the least step. The two times may come from different plans. Each of them is a
  /// bound.
  void fill(std::int32_t left, std::int32_t layer) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.work == 0) continue;  // no such node
      Nanos least_busy = kNone, least_step = kNone;
      for (std::int32_t last = layer + 1; last <= layers_; ++last) {
        const Stage own = stage(layer, last, node);
        const std::int64_t count = plan_.micro_batches;
        // More layers only make the two times longer.
        if (own.too_large ||
            (count * own.whole.path >= least_busy && count * own.whole.work() >= least_step)) {
          break;
        }
        if (!own.possible || (last == layers_ ? !may_end(left) : !may_continue(left))) continue;
        Nanos rest_busy = 0, rest_step = 0, behind = 0;
        if (last < layers_) {
          rest_busy = rest_busy_[at(after(left), last, n)];
          rest_step = rest_step_[at(after(left), last, n)];
          if (rest_busy == kNone) continue;
          if (plan_.limit_memory) behind = rest_trip_[at(0, last, n)];
        }
        const auto busy = [&](const StageMode& mode) {
          return std::max(busy_time(count, own.forward, mode, behind), mode.path + rest_busy);
        };
        least_busy = std::min(least_busy, own.least(busy));
        least_step = std::min(least_step, own.least([&](const StageMode& mode) {
          const Nanos done = std::max(count * mode.work(), busy(mode) + mode.later);
          return std::max(done + own.reduce, own.forward + rest_step);
        }));
      }
      busy_[at(left, layer, n)] = least_busy;
      step_[at(left, layer, n)] = least_step;
    }
  }

  /// Fills rest_busy_ and rest_step_: the same two times for the plans that may follow a stage on
  /// node n that ends before the layer.
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

  /// Extends a partial plan by a stage that starts at `layer` on node n, and continues the search.
  /// `left`: stages still to place if their number is fixed. `known`: a bound from the stages so
  /// far. `slope`: the sum of this value and the busy time of the rest is another bound. `head`:
  /// when the first micro-batch arrives.
  void extend(std::int32_t left, std::int32_t layer, std::size_t n, Nanos known, Nanos slope,
              Nanos head) {
    if (check_.answer != BoundCheck::Answer::kHolds) return;
    const Nanos busy = busy_[at(left, layer, n)];
    if (busy == kNone) return;
    if (std::max({known, slope + busy, head + step_[at(left, layer, n)]}) >= claimed_) return;
    // Give no answer rather than run for hours.
    if (++check_.visited > kMostVisited) {
      check_.answer = BoundCheck::Answer::kTooMany;
      return;
    }
    const Node& node = nodes_[n];
    for (std::int32_t last = layer + 1; last <= layers_; ++last) {
      const Stage own = stage(layer, last, node);
      if (own.too_large) break;
      const StageMode& whole = own.whole;
      const std::int64_t count = plan_.micro_batches;
      // `base`: what the first micro-batch and the all-reduce add to any busy time of this stage.
      const Nanos base = head + own.reduce;
      const Nanos steep = std::max(slope, base + whole.later);
      const Nanos sure = std::max({known, base + count * whole.work(), steep + count * whole.path});
      if (sure >= claimed_) break;
      if (!own.possible) continue;
      const auto in_memory = [&](Nanos behind) {
        return own.least([&](const StageMode& mode) {
          const Nanos until = busy_time(count, own.forward, mode, behind);
          return std::max({base + count * mode.work(), base + mode.later + until, slope + until});
        });
      };
      if (last == layers_) {
        if (!may_end(left) || in_memory(0) >= claimed_) continue;
        path_taken_.push_back({layer, last, n, nullptr});
        // The quick bounds did not rule the plan out, so compute its own, tighter bound.
        if (bound_of_path() < claimed_) check_.answer = BoundCheck::Answer::kFails;
        path_taken_.pop_back();
        continue;
      }
      if (!may_continue(left)) continue;
      for (const Edge& edge : node.next) {
        const Channel cost = channel(edge, last);
        Nanos surely = std::max(sure, steep + whole.path + cost.busy);
        if (whole.fit < count && trip_[at(0, last, edge.to)] < kNone) {
          surely = std::max(surely, in_memory(cost.both + trip_[at(0, last, edge.to)]));
        }
        path_taken_.push_back({layer, last, n, &edge});
        extend(after(left), last, edge.to, surely, steep + whole.path + cost.both,
               head + own.forward + cost.there);
        path_taken_.pop_back();
      }
    }
  }

  /// One stage of the plan that the search is extending.
  struct Taken {
    std::int32_t first, last;
    std::size_t node;
    const Edge* edge;  ///< to the next stage; nullptr for the last stage
  };

  /// The bound of the complete plan in path_taken_. Times are rounded as the simulator rounds them.
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
      // A node that stands for a number of devices has no particular links.
      if (!own.empty() && !next.empty()) {
        channel.shared_there = links_held(plan_, own, next);
        channel.shared_back = links_held(plan_, next, own);
      }
      channels.push_back(std::move(channel));
    }
    return std::max(schedule_bound(stages, channels, plan_.micro_batches, later_.back() > 0),
                    memory_bound(stages, channels));
  }

  /// The bound that memory sets for the complete plan: each stage runs in its better mode,
  /// independently of the other stages.
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
      // The backward of a stage that recomputes contains a forward and is rounded once. It can be 1
      // ns shorter than the sum of its parts, each of which is rounded.
      stage.again.path = all + std::max<Nanos>(times.forward - 1, 0);
      set_fits(taken.first, taken.last, nodes_[taken.node], stage.whole, stage.again);
      bound = std::max(bound, heads[s] + times.reduce + stage.least([&](const StageMode& mode) {
        const Nanos busy = busy_time(plan_.micro_batches, times.forward, mode, behind);
        return std::max(plan_.micro_batches * mode.work(), busy + mode.later);
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
  // Prefix sums over layers. path_: forwards and gradients of inputs; later_: gradients of weights.
  std::vector<Nanos> forward_, path_, later_;
  std::vector<Bytes> parameters_, stash_;
  double quickest_ = kInfinite;
  std::vector<Nanos> busy_, step_, rest_busy_, rest_step_;
  std::vector<Nanos> trip_, rest_trip_;  ///< filled only if memory is limited; for any number of
                                         ///< stages
  Nanos claimed_ = 0;
  BoundCheck check_;
};

/// The step if all devices were busy all the time.
Nanos least_work(const PlanData& plan) {
  double work = 0, speed = 0;
  for (const LayerData& layer : plan.layers) {
    work += static_cast<double>(layer.forward + layer.backward);
  }
  for (const double each : plan.speed) speed += each;
  // Rounded times can be shorter than exact ones: allow for that, but never go below 0.
  const Nanos rounding = 4 * static_cast<Nanos>(plan.devices) * plan.micro_batches;
  return std::max<Nanos>(static_cast<Nanos>(work * plan.micro_batches / speed) - rounding, 0);
}

}  // namespace

BoundCheck check_bound(const PlanData& plan, Nanos claimed) {
  // The cheap proofs come first. The search runs only if they are not enough.
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
  // Each rounded time may be up to half a nanosecond shorter than the exact time.
  const auto rounding = 2 * static_cast<Nanos>(plan.layers.size());
  return std::max(least_work(plan), static_cast<Nanos>(path / speed) - rounding);
}

}  // namespace weft::pipeline::verify
