// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "weft/reshard/bounds.h"
#include "weft/reshard/collectives.h"
#include "weft/reshard/moves.h"

namespace weft::reshard {
namespace {

constexpr Picos kNever = std::numeric_limits<Picos>::max();

struct State {
  Type type;
  LayoutPtr layout;
  Picos cost = 0;   ///< of the way here
  Picos bound = 0;  ///< on the way from here
  std::int32_t parent = -1;
  Step step;  ///< from the parent
  bool done = false;
};

/// Messages one after the other that it takes at least to hear from `peers` others: each round that
/// brings m messages multiplies by m + 1 of whom a device can have heard.
std::int64_t messages_at_least(std::int64_t peers) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(peers)));
}

class Search {
 public:
  Search(const Problem& problem, const FactoredProblem& factored, TypeLayouts& layouts,
         const Link& link, const SearchLimits& limits, Meetings& meetings)
      : problem_(problem),
        factored_(factored),
        link_(link),
        limits_(limits),
        meetings_(meetings),
        layouts_(layouts),
        target_(std::make_shared<Layout>(problem.target)) {}

  std::optional<Plan> run() {
    if (!layouts_.consistent()) return std::nullopt;
    State start;
    start.type = factored_.from;
    start.layout = layouts_.layout(start.type);
    std::string key = start.type.key();
    add(std::move(start), std::move(key));
    while (!open_.empty() && limits_.rounds > priced_) {
      const auto [estimate, left, index] = open_.top();
      open_.pop();
      if (estimate >= best_) break;
      if (states_[index].done || estimate != states_[index].cost + states_[index].bound) continue;
      states_[index].done = true;
      expand(index);
    }
    if (best_ == kNever) return std::nullopt;
    return plan();
  }

 private:
  /// Prices the way from a new state to the end, both exactly (in one round) and from below.
  void add(State state, std::string key) {
    const auto index = static_cast<std::int32_t>(states_.size());
    if (problem_.target.partial()) {
      if (fits_target(state)) offer(state.cost, index, {});
    } else {
      const Traffic rest = traffic(*state.layout, problem_.target, meetings_);
      ++priced_;
      state.bound = lower_bound(state, rest);
      const Picos cost = state.cost + price(link_, rest, problem_.item_size);
      if (cost < best_) {
        Step step;
        if (rest.recv_max > 0 || !same_distribution(*state.layout, problem_.target)) {
          step.layouts = {target_};
          step.traffic = rest;
          step.op = recognise(factored_.factors, state.type, factored_.to, rest);
        }
        offer(cost, index, std::move(step));
      }
    }
    known_.emplace(std::move(key), index);
    if (state.cost + state.bound < best_) {
      open_.emplace(state.cost + state.bound, state.bound, index);
    }
    states_.push_back(std::move(state));
  }

  Picos lower_bound(const State& state, const Traffic& rest) const {
    if (rest.recv_max == 0) return 0;
    const std::int64_t least =
        state.layout->partial() ? least_received(*state.layout, problem_.target) : rest.recv_max;
    const std::int64_t messages = messages_at_least(rest.peers_max);
    const Picos alone = price(link_, 1, messages, least * problem_.item_size);
    if (link_.node_bandwidth == 0) return alone;
    return std::max(alone,
                    price(link_, {1, 0, messages, lacked_by_node(state)}, problem_.item_size));
  }

  std::int64_t lacked_by_node(const State& state) const {
    return node_lacks(*state.layout, problem_.target, problem_.node_of);
  }

  /// Whether what every device holds lies within its part of the partial target.
  bool fits_target(const State& state) const {
    if (!arrived(factored_, state.type)) return false;
    for (std::size_t dim = 0; dim < problem_.shape.size(); ++dim) {
      for (Device device = 0; device < problem_.target.devices(); ++device) {
        if (!covers(problem_.target.cuts[dim]->piece(device),
                    state.layout->cuts[dim]->piece(device))) {
          return false;
        }
      }
    }
    return true;
  }

  void offer(Picos cost, std::int32_t from, Step last) {
    if (cost >= best_) return;
    best_ = cost;
    best_from_ = from;
    best_step_ = std::move(last);
  }

  void expand(std::int32_t index) {
    for (KeyedType& next : moves(factored_, states_[index].type)) {
      if (priced_ >= limits_.rounds) return;
      if (!worth_pricing(index, next)) continue;
      const LayoutPtr layout = layouts_.layout(next.type, next.key);
      if (!exchangeable(*states_[index].layout, *layout)) continue;
      if (layout->largest() > limits_.memory) continue;
      if (limits_.may_rest && !limits_.may_rest(*layout)) continue;
      const Traffic round = traffic(*states_[index].layout, *layout, meetings_);
      ++priced_;
      if (!cheaper(index, next.key, round)) continue;
      const Op op = recognise(factored_.factors, states_[index].type, next.type, round);
      relax(index, std::move(next), {op, {layout}, round});
    }
    FactorList all = states_[index].type.partial;
    for (const Factor factor : states_[index].type.partial) reduce(index, {factor});
    const FactorList near = common(all, factored_.factors.near);
    if (near.size() > 1 && near.size() < all.size()) reduce(index, near);
    if (all.size() > 1) reduce(index, std::move(all));
  }

  /// False where the type is known to be reached as cheaply, or has a part that cannot fit: one of
  /// n elements cut by k has at least n / k.
  bool worth_pricing(std::int32_t index, const KeyedType& next) const {
    const auto known = known_.find(next.key);
    if (known != known_.end() && states_[known->second].cost <= states_[index].cost) return false;
    std::int64_t largest = 1;
    const std::vector<std::int64_t> parts = divisors(factored_.factors, next.type);
    for (std::size_t dim = 0; dim < parts.size(); ++dim) {
      largest *= (problem_.shape[dim] + parts[dim] - 1) / parts[dim];
    }
    return largest <= limits_.memory;
  }

  /// All-reduce as a reduce-scatter and a gather, along the dimension that suits best, or along all
  /// of them flattened where none divides.
  void reduce(std::int32_t index, const FactorList& over) {
    Type whole = states_[index].type;
    for (const Factor factor : over) whole.partial.remove(factor);
    const LayoutPtr reduced = layouts_.layout(whole);
    Step best;
    const auto consider = [&](const LayoutPtr& between) {
      Step step = all_reduce_through(states_[index].layout, between, reduced);
      if (best.layouts.empty() || step.traffic.recv_max < best.traffic.recv_max) {
        best = std::move(step);
      }
    };
    std::int64_t ranks = 1;
    for (const Factor factor : over) ranks *= factored_.factors.radix[factor];
    const std::int64_t ideal = 2 * (ranks - 1) * reduced->largest() / ranks;
    for (std::size_t dim = 0; dim < whole.dims.size(); ++dim) {
      if (!best.layouts.empty() && best.traffic.recv_max <= ideal) break;
      if (whole.frames[dim] != Frame::kPlain) continue;
      Type scattered = whole;
      for (const Factor factor : over) scattered.dims[dim].push_back(factor);
      consider(layouts_.layout(scattered));
    }
    if (best.layouts.empty() || best.traffic.recv_max > ideal) {
      if (const LayoutPtr flat = layouts_.flattened(whole, over)) consider(flat);
    }
    if (best.layouts.empty()) return;
    std::string key = whole.key();
    if (cheaper(index, key, best.traffic)) {
      relax(index, {std::move(whole), std::move(key)}, std::move(best));
    }
  }

  Step all_reduce_through(const LayoutPtr& from, const LayoutPtr& between, const LayoutPtr& to) {
    const Traffic down = traffic(*from, *between, meetings_);
    const Traffic up = traffic(*between, *to, meetings_);
    priced_ += 2;
    std::int64_t most = down.recv_max + up.recv_max;
    const auto even = [&](const Traffic& round) {
      return round.recv_total == round.recv_max * to->devices();
    };
    // Where devices differ in both, it may not be the same one that receives most.
    if (!even(down) && !even(up)) {
      std::vector<std::int64_t> both = received(*from, *between);
      const std::vector<std::int64_t> more = received(*between, *to);
      for (std::size_t i = 0; i < both.size(); ++i) both[i] += more[i];
      most = *std::max_element(both.begin(), both.end());
    }
    return {Op::kAllReduce,
            {between, to},
            {most, down.recv_total + up.recv_total, down.peers_max + up.peers_max,
             down.node_recv_max + up.node_recv_max}};
  }

  Picos cost_by(std::int32_t parent, const Traffic& round) const {
    return states_[parent].cost + price(link_, round, problem_.item_size);
  }
  /// Whether the way through the parent may be better than what is known.
  bool cheaper(std::int32_t parent, const std::string& key, const Traffic& round) const {
    const Picos cost = cost_by(parent, round);
    const auto known = known_.find(key);
    return cost < best_ && (known == known_.end() || cost < states_[known->second].cost);
  }

  void relax(std::int32_t parent, KeyedType next, Step step) {
    const Picos cost = cost_by(parent, step.traffic);
    const auto known = known_.find(next.key);
    if (known == known_.end()) {
      State state;
      state.layout = step.layouts.back();
      state.type = std::move(next.type);
      state.cost = cost;
      state.parent = parent;
      state.step = std::move(step);
      add(std::move(state), std::move(next.key));
      return;
    }
    State& state = states_[known->second];
    const Picos less = state.cost - cost;
    state.cost = cost;
    state.parent = parent;
    state.step = std::move(step);
    state.done = false;
    // The best way through it, if it is that, gets cheaper as well.
    if (best_from_ == known->second) best_ -= less;
    open_.emplace(cost + state.bound, state.bound, known->second);
  }

  Plan plan() const {
    std::vector<Step> steps;
    if (!best_step_.layouts.empty()) steps.push_back(best_step_);
    for (std::int32_t at = best_from_; states_[at].parent >= 0; at = states_[at].parent) {
      steps.push_back(states_[at].step);
    }
    std::reverse(steps.begin(), steps.end());
    Plan plan;
    plan.steps = std::move(steps);
    if (problem_.target.partial()) plan.steps.push_back(make_partial());
    settle(plan, problem_, link_);
    return plan;
  }

  /// Copies along a partial axis of the target are one summand and zeros: the first device keeps
  /// it.
  Step make_partial() const {
    const State& end = states_[best_from_];
    auto layout = std::make_shared<Layout>(*end.layout);
    const FactorList free = unused(factored_.factors, end.type);
    for (const Factor factor : factored_.to.partial) {
      if (!free.has(factor)) continue;
      for (Device device = 0; device < layout->devices(); ++device) {
        if (factored_.factors.digit[factor][device] > 0) layout->group[device] = Layout::kAbsent;
      }
    }
    return {Op::kMakePartial, {std::move(layout)}, {}};
  }

  const Problem& problem_;
  const FactoredProblem& factored_;
  const Link& link_;
  const SearchLimits& limits_;
  Meetings& meetings_;
  TypeLayouts& layouts_;
  LayoutPtr target_;

  std::vector<State> states_;
  std::unordered_map<std::string, std::int32_t> known_;
  /// Estimate, how much of it is still ahead, state: of equal ones, the nearest to the end.
  using Open = std::tuple<Picos, Picos, std::int32_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::int64_t priced_ = 0;

  Picos best_ = kNever;
  std::int32_t best_from_ = -1;
  Step best_step_;
};

}  // namespace

std::optional<Plan> search(const Problem& problem, const FactoredProblem& factored,
                           TypeLayouts& layouts, const Link& link, const SearchLimits& limits,
                           Meetings& meetings) {
  return Search(problem, factored, layouts, link, limits, meetings).run();
}

std::optional<Plan> search_through(const Type& place, const Problem& problem,
                                   const FactoredProblem& factored, TypeLayouts& layouts,
                                   const Link& link, const SearchLimits& limits,
                                   Meetings& meetings) {
  const LayoutPtr layout = layouts.layout(place);
  if (problem.source.partial() || problem.target.partial() || !layouts.consistent() ||
      layout->largest() > limits.memory || (limits.may_rest && !limits.may_rest(*layout))) {
    return std::nullopt;
  }
  Problem ways[2] = {problem, problem};
  FactoredProblem types[2] = {factored, factored};
  ways[0].target = ways[1].source = *layout;
  types[0].to = types[1].from = place;
  Plan whole;
  for (int i = 0; i < 2; ++i) {
    TypeLayouts own(ways[i], types[i]);
    const auto plan = search(ways[i], types[i], own, link, limits, meetings);
    if (!plan) return std::nullopt;
    whole.steps.insert(whole.steps.end(), plan->steps.begin(), plan->steps.end());
  }
  settle(whole, problem, link);
  return whole;
}

}  // namespace weft::reshard
