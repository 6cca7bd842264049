// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <tuple>

#include "weft/reshard/bounds.h"
#include "weft/reshard/collectives.h"
#include "weft/reshard/moves.h"

namespace weft::reshard {
namespace {

constexpr Picos kNever = std::numeric_limits<Picos>::max();

struct State {
  TypeNumber type = 0;
  LayoutPtr layout;
  Picos cost = 0;   ///< of the way here
  Picos bound = 0;  ///< on the way from here
  std::int32_t parent = -1;
  LayoutPtr between;  ///< of an all-reduce from the parent: where its first round leads
  bool flat = false;  ///< likewise, and that is a flattened layout, which is not made yet
  Traffic traffic;    ///< from the parent
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
        types_(layouts.numbers()) {}

  std::optional<Plan> run() {
    if (!layouts_.consistent()) return std::nullopt;
    State start;
    start.type = types_.of(factored_.from);
    start.layout = layouts_.layout(start.type);
    add(std::move(start));
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
  void add(State state) {
    const auto index = static_cast<std::int32_t>(states_.size());
    if (problem_.target.partial()) {
      if (fits_target(state)) offer(state.cost, index, {});
    } else {
      const Traffic rest = traffic(*state.layout, problem_.target, meetings_);
      ++priced_;
      state.bound = lower_bound(state, rest);
      offer(state.cost + price(link_, rest, problem_.item_size), index, rest);
    }
    known(state.type).state = index;
    if (state.cost + state.bound < best_) {
      open_.emplace(state.cost + state.bound, state.bound, index);
    }
    states_.push_back(std::move(state));
  }

  Picos lower_bound(const State& state, const Traffic& rest) {
    if (rest.recv_max == 0) return 0;
    const std::int64_t least =
        state.layout->partial() ? least_of_sums(*state.layout) : rest.recv_max;
    const std::int64_t messages = messages_at_least(rest.peers_max);
    const Picos alone = price(link_, 1, messages, least * problem_.item_size);
    if (link_.node_bandwidth == 0) return alone;
    return std::max(alone,
                    price(link_, {1, 0, messages, lacked_by_node(state)}, problem_.item_size));
  }

  /// least_received() of a partial layout, for which nothing but its number of groups matters.
  std::int64_t least_of_sums(const Layout& layout) {
    for (const auto& [groups, least] : least_of_sums_) {
      if (groups == layout.groups) return least;
    }
    least_of_sums_.emplace_back(layout.groups, least_received(layout, problem_.target));
    return least_of_sums_.back().second;
  }

  std::int64_t lacked_by_node(const State& state) const {
    return node_lacks(*state.layout, problem_.target, problem_.node_of);
  }

  /// Whether what every device holds lies within its part of the partial target.
  bool fits_target(const State& state) const {
    if (!arrived(factored_, types_[state.type])) return false;
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

  /// The way through a state and from there straight to the target.
  void offer(Picos cost, std::int32_t from, const Traffic& rest) {
    if (cost >= best_) return;
    best_ = cost;
    best_from_ = from;
    best_rest_ = rest;
  }

  void expand(std::int32_t index) {
    for (const TypeNumber next : moves(factored_, states_[index].type, types_)) {
      if (priced_ >= limits_.rounds) return;
      const std::int32_t before = known(next).state;
      if (before >= 0 && states_[before].cost <= states_[index].cost) continue;
      if (!fits(next)) continue;
      const LayoutPtr layout = layouts_.layout(next);
      const Traffic round = traffic(*states_[index].layout, *layout, meetings_);
      ++priced_;
      relax(index, next, {layout, nullptr, round, false});
    }
    const FactorList all = types_[states_[index].type].partial;
    for (const Factor factor : all) reduce(index, {factor});
    const FactorList near = common(all, factored_.factors.near);
    if (near.size() > 1 && near.size() < all.size()) reduce(index, near);
    if (all.size() > 1) reduce(index, all);
  }

  /// What is known of a type.
  struct Known {
    std::int32_t state = -1;
    enum class Fits : std::int8_t { kUnknown, kNo, kYes } fits = Fits::kUnknown;
  };
  Known& known(TypeNumber type) {
    if (known_.size() < types_.size()) known_.resize(types_.size());
    return known_[type];
  }

  /// Whether the array may rest there.
  bool fits(TypeNumber type) {
    Known::Fits& fits = known(type).fits;
    if (fits == Known::Fits::kUnknown) {
      const bool may = least_part(types_[type]) <= limits_.memory &&
                       layouts_.layout(type)->largest() <= limits_.memory &&
                       (!limits_.may_rest || limits_.may_rest(*layouts_.layout(type)));
      fits = may ? Known::Fits::kYes : Known::Fits::kNo;
    }
    return fits == Known::Fits::kYes;
  }

  /// The largest part has at least this many elements: one of n cut by k has n / k.
  std::int64_t least_part(const Type& type) const {
    std::int64_t part = 1;
    for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
      const std::int64_t cut_by = divisor(factored_.factors, type.dims[dim]);
      part *= (problem_.shape[dim] + cut_by - 1) / cut_by;
    }
    return part;
  }

  /// One step from a state to another.
  struct Way {
    LayoutPtr layout, between;  ///< see State
    Traffic traffic;
    bool flat = false;
  };

  /// All-reduce as a reduce-scatter and a gather, along the dimension that suits best, or along all
  /// of them flattened where none divides.
  void reduce(std::int32_t index, const FactorList& over) {
    Type whole = types_[states_[index].type];
    for (const Factor factor : over) whole.partial.remove(factor);
    const TypeNumber number = types_.of(whole);
    const LayoutPtr reduced = layouts_.layout(number);
    Way best;
    const auto consider = [&](Way way) {
      if (!best.layout || way.traffic.recv_max < best.traffic.recv_max) best = std::move(way);
    };
    const LayoutPtr from = states_[index].layout;
    const std::int64_t ranks = divisor(factored_.factors, over);
    const std::int64_t ideal = 2 * (ranks - 1) * reduced->largest() / ranks;
    for (std::size_t dim = 0; dim < whole.dims.size(); ++dim) {
      if (best.layout && best.traffic.recv_max <= ideal) break;
      if (whole.frames[dim] != Frame::kPlain) continue;
      Type scattered = whole;
      for (const Factor factor : over) scattered.dims[dim].push_back(factor);
      consider(all_reduce_through(from, layouts_.layout(scattered), reduced));
    }
    if (!best.layout || best.traffic.recv_max > ideal) {
      if (auto flat = all_reduce_flat(from, reduced, whole, over)) consider(std::move(*flat));
    }
    if (best.layout) relax(index, number, std::move(best));
  }

  /// Through equal shares of the flattened parts. Where there are no nodes these are not made, of
  /// which there are many: what comes follows from their sizes, and senders are as many as ranks,
  /// or a few more where copies share the sending. nullopt where parts cannot be flattened.
  std::optional<Way> all_reduce_flat(const LayoutPtr& from, const LayoutPtr& to, const Type& whole,
                                     const FactorList& over) {
    if (!problem_.node_of.empty()) {
      const LayoutPtr between = layouts_.flattened(whole, over);
      if (!between) return std::nullopt;
      return all_reduce_through(from, between, to);
    }
    if (!std::all_of(to->cuts.begin(), to->cuts.end(),
                     [](const auto& cut) { return cut->single; })) {
      return std::nullopt;
    }
    priced_ += 2;
    const std::int64_t ranks = divisor(factored_.factors, over);
    Traffic sum{0, 0, 2 * (ranks - 1), 0};
    for (Device device = 0; device < to->devices(); ++device) {
      if (!to->holds(device)) continue;
      const std::int64_t part = to->elements(device);
      const std::int64_t share = layouts_.flat_range_of(part, over, device).length();
      const std::int64_t received = (ranks - 1) * share + part - share;
      sum.recv_max = std::max(sum.recv_max, received);
      sum.recv_total += received;
    }
    return Way{to, nullptr, sum, true};
  }

  Way all_reduce_through(const LayoutPtr& from, const LayoutPtr& between, const LayoutPtr& to) {
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
    return {to,
            between,
            {most, down.recv_total + up.recv_total, down.peers_max + up.peers_max,
             down.node_recv_max + up.node_recv_max},
            false};
  }

  /// Takes the way to a type if it is better than what is known.
  void relax(std::int32_t parent, TypeNumber type, Way way) {
    const Picos cost = states_[parent].cost + price(link_, way.traffic, problem_.item_size);
    const std::int32_t index = known(type).state;
    if (cost >= best_ || (index >= 0 && cost >= states_[index].cost)) return;
    State fresh;
    State& state = index < 0 ? fresh : states_[index];
    const Picos less = state.cost - cost;
    state.type = type;
    state.layout = std::move(way.layout);
    state.cost = cost;
    state.parent = parent;
    state.between = std::move(way.between);
    state.flat = way.flat;
    state.traffic = way.traffic;
    state.done = false;
    if (index < 0) return add(std::move(fresh));
    // The best way through it, if it is that, gets cheaper as well.
    if (best_from_ == index) best_ -= less;
    open_.emplace(cost + state.bound, state.bound, index);
  }

  Plan plan() {
    const Factors& factors = factored_.factors;
    Plan plan;
    for (std::int32_t at = best_from_; states_[at].parent >= 0; at = states_[at].parent) {
      State& state = states_[at];
      const State& parent = states_[state.parent];
      if (state.flat) make_flat(parent, state);
      Step step{Op::kAllReduce, {state.between, state.layout}, state.traffic};
      if (!state.between) {
        step.op = recognise(factors, types_[parent.type], types_[state.type], state.traffic);
        step.layouts = {state.layout};
      }
      plan.steps.push_back(std::move(step));
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    const State& end = states_[best_from_];
    if (problem_.target.partial()) {
      plan.steps.push_back(make_partial());
    } else if (best_rest_.recv_max > 0 || !same_distribution(*end.layout, problem_.target)) {
      const Op op = recognise(factors, types_[end.type], factored_.to, best_rest_);
      plan.steps.push_back({op, {std::make_shared<Layout>(problem_.target)}, best_rest_});
    }
    settle(plan, problem_, link_);
    return plan;
  }

  /// What all_reduce_flat() left out.
  void make_flat(const State& parent, State& state) {
    FactorList over = types_[parent.type].partial;
    for (const Factor factor : types_[state.type].partial) over.remove(factor);
    const Type whole = types_[state.type];
    state.between = layouts_.flattened(whole, over);
    state.flat = false;
    if (unused(factored_.factors, types_[parent.type]).empty()) return;  // there are no copies
    state.traffic = all_reduce_through(parent.layout, state.between, state.layout).traffic;
  }

  /// Copies along a partial axis of the target are one summand and zeros: the first device keeps
  /// it.
  Step make_partial() const {
    const State& end = states_[best_from_];
    auto layout = std::make_shared<Layout>(*end.layout);
    const FactorList free = unused(factored_.factors, types_[end.type]);
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
  TypeNumbers& types_;

  std::vector<State> states_;
  std::vector<Known> known_;                                          ///< by type
  std::vector<std::pair<std::int32_t, std::int64_t>> least_of_sums_;  ///< by number of groups
  /// Estimate, how much of it is still ahead, state: of equal ones, the nearest to the end.
  using Open = std::tuple<Picos, Picos, std::int32_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::int64_t priced_ = 0;

  Picos best_ = kNever;
  std::int32_t best_from_ = -1;
  Traffic best_rest_;  ///< from there to the target
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
