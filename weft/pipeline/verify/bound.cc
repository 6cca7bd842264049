// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/pipeline/verify/schedule_bound.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {
namespace {

constexpr Nanos kNone = std::int64_t{1} << 60;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int32_t kMostSets = 10, kMostCounted = 64, kMostSetLayers = 100;
constexpr std::int64_t kMostVisited = 20'000'000;

Nanos floor_of(double rate, std::int64_t amount) {
  return static_cast<Nanos>(rate * static_cast<double>(amount));
}

struct Edge {
  std::size_t to;
  double there, back;
  Nanos latency_there, latency_back;
  Nanos latency() const { return latency_there + latency_back; }
};

/// A stage's devices, after others have been used up.
struct Node {
  std::vector<std::int32_t> devices;  ///< empty where only their number counts
  std::int32_t replicas = 1;
  double work = 0, reduce = 0;
  Nanos reduce_latency = 0;
  Bytes memory = 0;  ///< 0: no limit
  bool first = false;
  std::vector<Edge> next;
};

bool alike(const PlanData& plan) {
  bool same = plan.shared.empty();
  for (std::int32_t i = 0; i < plan.devices; ++i) {
    same &= plan.speed[i] == plan.speed[0] && plan.memory[i] == plan.memory[0];
    for (std::int32_t j = 0; j < plan.devices; ++j) {
      if (i == j) continue;
      same &= plan.bandwidth[i][j] == plan.bandwidth[0][1];
      same &= plan.latency[i][j] == plan.latency[0][1];
    }
  }
  return same;
}

bool allowed(const PlanData& plan, std::int32_t replicas) {
  return plan.most_replicas == 0 || replicas <= plan.most_replicas;
}

Bytes least_memory(const PlanData& plan, const std::vector<std::int32_t>& group) {
  Bytes least = 0;
  for (const std::int32_t device : group) {
    if (plan.memory[device] > 0 && (least == 0 || plan.memory[device] < least)) {
      least = plan.memory[device];
    }
  }
  return least;
}

/// All ordered ways to take disjoint sets: a node is (used before, set).
std::vector<Node> set_nodes(const PlanData& plan) {
  const std::size_t sets = std::size_t{1} << plan.devices;
  std::vector<std::vector<std::int32_t>> members(sets);
  for (std::size_t set = 1; set < sets; ++set) {
    for (std::int32_t d = 0; d < plan.devices; ++d) {
      if ((set >> d & 1) != 0) members[set].push_back(d);
    }
  }
  std::vector<std::size_t> index(sets * sets, 0);
  std::size_t count = 0;
  for (std::size_t used = 0; used < sets; ++used) {
    for (std::size_t set = 1; set < sets; ++set) {
      if ((used & set) == 0) index[used * sets + set] = count++;
    }
  }
  std::vector<Node> nodes(count);
  std::vector<Edge> channels(sets * sets, Edge{0, kNever, kNever, 0, 0});
  for (std::size_t a = 1; a < sets; ++a) {
    for (std::size_t b = 1; b < sets; ++b) {
      if ((a & b) != 0) continue;
      channels[a * sets + b] = {0, channel_rate(plan, members[a], members[b]),
                                channel_rate(plan, members[b], members[a]),
                                channel_latency(plan, members[a], members[b]),
                                channel_latency(plan, members[b], members[a])};
    }
  }
  for (std::size_t used = 0; used < sets; ++used) {
    for (std::size_t set = 1; set < sets; ++set) {
      if ((used & set) != 0 || !allowed(plan, static_cast<std::int32_t>(members[set].size())))
        continue;
      Node& node = nodes[index[used * sets + set]];
      node.devices = members[set];
      node.replicas = static_cast<std::int32_t>(members[set].size());
      node.work = group_work(plan, members[set]);
      node.reduce = reduce_rate(plan, members[set]);
      node.reduce_latency = reduce_latency(plan, members[set]);
      node.memory = least_memory(plan, members[set]);
      node.first = used == 0;
      for (std::size_t next = 1; next < sets; ++next) {
        if (((used | set) & next) != 0) continue;
        if (!allowed(plan, static_cast<std::int32_t>(members[next].size()))) continue;
        Edge edge = channels[set * sets + next];
        edge.to = index[(used | set) * sets + next];
        if (edge.there < kNever && edge.back < kNever) node.next.push_back(edge);
      }
    }
  }
  return nodes;
}

/// The k-th best link of the device that has the best one; by k from 1.
std::vector<std::int64_t> best_links(const PlanData& plan, bool out) {
  std::vector<std::int64_t> best(plan.devices, 0);
  for (std::int32_t i = 0; i < plan.devices; ++i) {
    std::vector<std::int64_t> links;
    for (std::int32_t j = 0; j < plan.devices; ++j) {
      if (i != j) links.push_back(out ? plan.bandwidth[i][j] : plan.bandwidth[j][i]);
    }
    std::sort(links.rbegin(), links.rend());
    for (std::size_t k = 0; k < links.size(); ++k) best[k + 1] = std::max(best[k + 1], links[k]);
  }
  return best;
}

/// Numbers of devices instead of devices: a node is (used before, replicas).
std::vector<Node> count_nodes(const PlanData& plan) {
  const std::int32_t count = plan.devices;
  const std::vector<std::int64_t> out = best_links(plan, true), in = best_links(plan, false);
  std::vector<double> speed = plan.speed;
  std::sort(speed.rbegin(), speed.rend());
  Nanos latency = count > 1 ? kNone : 0;
  Bytes memory = 0;
  bool limited = true;
  for (std::int32_t i = 0; i < count; ++i) {
    memory = std::max(memory, plan.memory[i]);
    limited &= plan.memory[i] > 0;
    for (std::int32_t j = 0; j < count; ++j) {
      if (i != j) latency = std::min(latency, plan.latency[i][j]);
    }
  }
  const auto rate = [](std::int64_t bandwidth) {
    return bandwidth > 0 ? 1e9 / static_cast<double>(bandwidth) : kNever;
  };
  const auto side = static_cast<std::size_t>(count) + 1;
  std::vector<Node> nodes(side * side);
  for (std::int32_t used = 0; used < count; ++used) {
    for (std::int32_t r = 1; used + r <= count && allowed(plan, r); ++r) {
      Node& node = nodes[static_cast<std::size_t>(used) * side + r];
      node.replicas = r;
      node.work = 1 / (r * speed[r - 1]);
      if (r > 1) {
        node.reduce = 2.0 * (r - 1) / r * rate(std::min(out[r - 1], in[r - 1]));
        node.reduce_latency = 2 * (r - 1) * latency;
      }
      node.memory = limited ? memory : 0;
      node.first = used == 0;
      for (std::int32_t next = 1; used + r + next <= count && allowed(plan, next); ++next) {
        const double pairs = static_cast<double>(r) * next;
        const Edge edge{static_cast<std::size_t>(used + r) * side + next,
                        rate(std::min(out[next], in[r])) / pairs,
                        rate(std::min(out[r], in[next])) / pairs, latency, latency};
        if (edge.there < kNever && edge.back < kNever) node.next.push_back(edge);
      }
    }
  }
  return nodes;
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
  return static_cast<Nanos>(work * plan.micro_batches / speed) -
         4 * static_cast<Nanos>(plan.devices) * plan.micro_batches;  // times are rounded
}

}  // namespace

BoundCheck check_bound(const PlanData& plan, Nanos claimed) {
  const Nanos work = least_work(plan);
  if (claimed <= work) return {BoundCheck::Answer::kHolds, work, 0};
  if (plan.devices > kMostCounted) return {BoundCheck::Answer::kTooMany, work, 0};
  const bool sets = plan.devices <= kMostSets && !alike(plan) &&
                    (plan.devices <= 8 || plan.layers.size() <= kMostSetLayers);
  return Search(plan, sets ? set_nodes(plan) : count_nodes(plan)).run(claimed);
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
