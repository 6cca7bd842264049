// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest path from type to type with the A* algorithm. A state is a type with the
// cheapest known path from the source to it. An edge is one step: a single round, or an all-reduce
// of two rounds.
//   * When a state is added, the direct exchange from it to the target is priced exactly. So every
//     state gives a complete plan. A search that runs out of rounds returns the best of these
//     plans.
//   * The same exchange gives a lower bound on the rest of the path (docs/design/reshard.md,
//     "Search"). Receiving v elements reduces what a device lacks by at most v. Data from p other
//     devices needs at least log2(p + 1) messages one after the other. At least one step is needed.
//   * Types with a part that does not fit into memory are left out. So every plan stays within
//     memory.
// No direct exchange leads to a partial target, because its summands may be chosen. In this case, a
// path ends in a type that becomes the target by filling in neutral elements, which moves nothing.
#include "weft/reshard/search/search.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "weft/reshard/round/nodes.h"
#include "weft/reshard/search/all_reduce.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/collectives.h"
#include "weft/reshard/search/moves.h"

namespace weft::reshard {
namespace {

struct State {
  TypeNumber type = 0;
  SearchEdge edge;           ///< from the parent to this state
  Picos cost = 0;            ///< of the path from the source to this state
  Picos bound = 0;           ///< lower bound on the path from this state to the target
  std::int32_t parent = -1;  ///< index of the state before it; -1: this is the source
  bool done = false;         ///< expanded since its cost last changed
};

/// A lower bound on the messages that a device must receive one after the other to get data of
/// `peers` other devices. If a round brings m messages, the number of devices whose data can have
/// reached the device grows by a factor of at most m + 1, and m + 1 is at most 2^m.
std::int64_t messages_at_least(std::int64_t peers) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(peers)));
}

/// A lower bound on the price of all rounds that bring devices what they lack. The data comes from
/// `lacks.peers_max` other devices, either directly or through third devices.
Picos least_to_come(const Link& link, Traffic lacks, Bytes item_size) {
  lacks.peers_max = messages_at_least(lacks.peers_max);
  return least_price(link, lacks, item_size);
}

class Search {
 public:
  Search(const Problem& problem, const FactoredProblem& factored, TypeLayouts& layouts,
         const Link& link, const SearchLimits& limits, OverlapCache& overlaps)
      : problem_(problem),
        factored_(factored),
        link_(link),
        limits_(limits),
        overlaps_(overlaps),
        layouts_(layouts),
        types_(layouts.numbers()),
        all_reduces_(problem, factored, layouts, overlaps),
        best_(limits.upper_bound) {}

  /// Runs the search. It expands states in the order of their estimated total cost. It ends when
  /// the estimate of the next state is not below the time of the best plan, or when all rounds are
  /// used.
  std::optional<Plan> run() {
    if (!layouts_.consistent()) return std::nullopt;
    State start;
    start.type = types_.of(factored_.from);
    start.edge.layout = layouts_.layout(start.type);
    add(std::move(start));
    while (!open_.empty() && limits_.rounds > priced()) {
      const auto [estimate, left, index] = open_.top();
      open_.pop();
      if (estimate >= best_) break;
      // If a state became cheaper after it was queued, its old entry is still in the queue. Skip
      // it.
      if (states_[index].done || estimate != states_[index].cost + states_[index].bound) continue;
      states_[index].done = true;
      expand(index);
    }
    if (best_from_ < 0) return std::nullopt;
    return plan();
  }
  std::int64_t priced() const { return priced_ + all_reduces_.priced(); }

 private:
  /// Adds a new state. Prices the direct exchange from the state to the target, and derives the
  /// lower bound of the state from this exchange. Queues the state unless its bound rules it out.
  void add(State state) {
    const auto index = static_cast<std::int32_t>(states_.size());
    if (problem_.target.partial()) {
      if (fits_target(state)) offer(state.cost, index, {});
    } else {
      const Traffic rest = traffic(*state.edge.layout, problem_.target, overlaps_);
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
        state.edge.layout->partial() ? least_of_sums(*state.edge.layout) : rest.recv_max;
    std::int64_t into_node = 0;
    if (link_.node_bandwidth > 0) {
      into_node = node_deficit_max(*state.edge.layout, *layouts_.layout(factored_.to), overlaps_);
    }
    return least_to_come(link_, {least, 0, rest.peers_max, into_node}, problem_.item_size);
  }

  /// least_received() of a partial layout. The result depends only on the number of groups, so it
  /// is remembered for each number of groups.
  std::int64_t least_of_sums(const Layout& layout) {
    for (const auto& [groups, least] : least_of_sums_) {
      if (groups == layout.groups) return least;
    }
    least_of_sums_.emplace_back(layout.groups, least_received(layout, problem_.target));
    return least_of_sums_.back().second;
  }

  /// Whether a state can become the partial target by filling in neutral elements: every device
  /// must hold only elements that are in its part of the target.
  bool fits_target(const State& state) const {
    if (!arrived(factored_, types_[state.type])) return false;
    for (std::size_t dim = 0; dim < problem_.shape.size(); ++dim) {
      for (Device device = 0; device < problem_.target.devices(); ++device) {
        if (!covers(problem_.target.cuts[dim]->piece(device),
                    state.edge.layout->cuts[dim]->piece(device))) {
          return false;
        }
      }
    }
    return true;
  }

  /// Considers the plan that follows the path to state `from` and then goes directly to the target.
  /// If it is the cheapest plan so far, it becomes the best plan. `rest` is the traffic of the last
  /// exchange.
  void offer(Picos cost, std::int32_t from, const Traffic& rest) {
    if (cost >= best_) return;
    best_ = cost;
    best_from_ = from;
    best_rest_ = rest;
  }

  /// Tries the edge from a state to a type in one round.
  void try_round(std::int32_t index, TypeNumber next) {
    // Every round costs something. So if the path to the type already costs no more than the path
    // to this state, the type cannot become cheaper. This is checked before the layout is built.
    const std::int32_t before = known(next).state;
    if (before >= 0 && states_[before].cost <= states_[index].cost) return;
    if (!fits(next)) return;
    const LayoutPtr layout = layouts_.layout(next);
    const Traffic round = traffic(*states_[index].edge.layout, *layout, overlaps_);
    ++priced_;
    relax(index, next, {layout, nullptr, round, false});
  }

  void expand(std::int32_t index) {
    if (problem_.target.partial()) {
      // Try a direct exchange to a type whose dimensions are cut as in the target. Factors that
      // hold summands in this state and in the target stay partial; other summands are added up by
      // the exchange.
      Type end = factored_.to;
      end.partial = common(types_[states_[index].type].partial, end.partial);
      try_round(index, types_.of(end));
    }
    for (const TypeNumber next : moves(factored_, states_[index].type, types_)) {
      if (priced() >= limits_.rounds) return;
      try_round(index, next);
    }
    const FactorList all = types_[states_[index].type].partial;
    for (const Factor factor : all) reduce(index, {factor});
    const FactorList near = common(all, factored_.factors.intra_node);
    if (near.size() > 1 && near.size() < all.size()) reduce(index, near);
    if (all.size() > 1) reduce(index, all);
  }

  /// What the search knows about a type.
  struct Known {
    std::int32_t state = -1;
    enum class Fits : std::int8_t { kUnknown, kNo, kYes } fits = Fits::kUnknown;
  };
  Known& known(TypeNumber type) {
    if (known_.size() < types_.size()) known_.resize(types_.size());
    return known_[type];
  }

  /// Whether the layout of a type may be an intermediate layout: it fits into memory and the caller
  /// allows it. The first test is cheap and avoids building layouts that are too large.
  bool fits(TypeNumber type) {
    Known::Fits& fits = known(type).fits;
    if (fits == Known::Fits::kUnknown) {
      const bool may = least_part(types_[type]) <= limits_.memory &&
                       layouts_.layout(type)->largest() <= limits_.memory &&
                       (!limits_.layout_allowed || limits_.layout_allowed(*layouts_.layout(type)));
      fits = may ? Known::Fits::kYes : Known::Fits::kNo;
    }
    return fits == Known::Fits::kYes;
  }

  /// A lower bound on the largest part of a type: if n elements are cut into k pieces, one of them
  /// has at least n / k.
  std::int64_t least_part(const Type& type) const {
    std::int64_t part = 1;
    for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
      const std::int64_t cut_by = divisor(factored_.factors, type.dims[dim]);
      part *= (problem_.shape[dim] + cut_by - 1) / cut_by;
    }
    return part;
  }

  /// Tries an all-reduce over the given partial factors.
  void reduce(std::int32_t index, const FactorList& over) {
    Type whole = types_[states_[index].type];
    for (const Factor factor : over) whole.partial.remove(factor);
    SearchEdge edge = all_reduces_.cheapest(states_[index].edge.layout, whole, over);
    if (edge.layout) relax(index, types_.of(whole), std::move(edge));
  }

  /// Takes an edge to a type if it makes the path to this type cheaper. An expanded state that
  /// becomes cheaper is expanded again, because the lower bound need not be consistent.
  void relax(std::int32_t parent, TypeNumber type, SearchEdge edge) {
    const Picos cost = states_[parent].cost + price(link_, edge.traffic, problem_.item_size);
    const std::int32_t index = known(type).state;
    if (cost >= best_ || (index >= 0 && cost >= states_[index].cost)) return;
    State fresh;
    State& state = index < 0 ? fresh : states_[index];
    const Picos less = state.cost - cost;
    state.type = type;
    state.edge = std::move(edge);
    state.cost = cost;
    state.parent = parent;
    state.done = false;
    if (index < 0) return add(std::move(fresh));
    // If the best plan goes through this state, it has become cheaper by the same amount.
    if (best_from_ == index) best_ -= less;
    open_.emplace(cost + state.bound, state.bound, index);
  }

  /// The best plan, read from its last state back to the source.
  Plan plan() {
    const Factors& factors = factored_.factors;
    Plan plan;
    for (std::int32_t at = best_from_; states_[at].parent >= 0; at = states_[at].parent) {
      State& state = states_[at];
      const State& parent = states_[state.parent];
      if (state.edge.flat) make_flat(parent, state);
      Step step{Op::kAllReduce, {state.edge.between, state.edge.layout}, state.edge.traffic};
      if (!state.edge.between) {
        step.op = recognise(factors, types_[parent.type], types_[state.type], state.edge.traffic);
        step.layouts = {state.edge.layout};
      }
      plan.steps.push_back(std::move(step));
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    const State& end = states_[best_from_];
    if (problem_.target.partial()) {
      Step step = make_partial();
      // If every device already holds exactly its part of the target, there is nothing to fill in.
      const bool filled = same_distribution(*step.layouts[0], *end.edge.layout) &&
                          same_regions(*end.edge.layout, problem_.target);
      if (!filled) plan.steps.push_back(std::move(step));
    } else if (best_rest_.recv_max > 0 || !same_distribution(*end.edge.layout, problem_.target)) {
      const Op op = recognise(factors, types_[end.type], factored_.to, best_rest_);
      plan.steps.push_back({op, {std::make_shared<Layout>(problem_.target)}, best_rest_});
    }
    update_totals(plan, problem_, link_);
    return plan;
  }

  static bool same_regions(const Layout& a, const Layout& b) {
    for (Part part = 0; part < a.parts(); ++part) {
      if (a.region(part) != b.region(part)) return false;
    }
    return a.parts() == b.parts();
  }

  /// Builds the intermediate layout that the search left out, see SearchEdge::flat.
  void make_flat(const State& parent, State& state) {
    FactorList over = types_[parent.type].partial;
    for (const Factor factor : types_[state.type].partial) over.remove(factor);
    const bool copies = !unused(factored_.factors, types_[parent.type]).empty();
    const Type whole = types_[state.type];
    all_reduces_.make_flat(parent.edge.layout, whole, over, copies, state.edge);
  }

  /// The last step to a partial target. If devices hold copies along a partial axis of the target,
  /// the first of these devices keeps its copy as the summand, and all others hold the neutral
  /// element.
  Step make_partial() const {
    const State& end = states_[best_from_];
    auto layout = std::make_shared<Layout>(*end.edge.layout);
    layout->node_grid = false;
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
  OverlapCache& overlaps_;
  TypeLayouts& layouts_;
  TypeNumbers& types_;
  AllReduces all_reduces_;

  std::vector<State> states_;
  std::vector<Known> known_;  ///< indexed by type
  std::vector<std::pair<std::int32_t, std::int64_t>>
      least_of_sums_;  ///< a number of groups, and least_received() for it
  /// Estimated total cost, lower bound on the rest of the path, and state. Among equal estimates,
  /// the state with the smallest bound comes first.
  using Open = std::tuple<Picos, Picos, std::int32_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::int64_t priced_ = 0;

  Picos best_;                   ///< time of the best plan, or the upper bound of the caller
  std::int32_t best_from_ = -1;  ///< last state of the best plan; -1: there is no plan yet
  Traffic best_rest_;            ///< the traffic of the exchange from that state to the target
};

}  // namespace

std::optional<Plan> search(const Problem& problem, const FactoredProblem& factored,
                           TypeLayouts& layouts, const Link& link, SearchLimits& limits,
                           OverlapCache& overlaps) {
  Search search(problem, factored, layouts, link, limits, overlaps);
  auto plan = search.run();
  limits.rounds -= std::min(limits.rounds, search.priced());
  return plan;
}

std::optional<Plan> search_via(const Type& waypoint, const Problem& problem,
                               const FactoredProblem& factored, TypeLayouts& layouts,
                               const Link& link, SearchLimits& limits, OverlapCache& overlaps) {
  const LayoutPtr layout = layouts.layout(waypoint);
  if (problem.source.partial() || problem.target.partial() || !layouts.consistent() ||
      layout->largest() > limits.memory ||
      (limits.layout_allowed && !limits.layout_allowed(*layout))) {
    return std::nullopt;
  }
  const LayoutPtr stops[3] = {layouts.layout(factored.from), layout, layouts.layout(factored.to)};
  // Lower bounds on both halves: the first half must leave enough time for the second.
  Picos least[2];
  for (int i = 0; i < 2; ++i) {
    const Layout &from = *stops[i], &to = *stops[i + 1];
    Traffic lacks = traffic(from, to, overlaps);
    lacks.node_recv_max = node_deficit_max(from, to, overlaps);
    least[i] = least_to_come(link, lacks, problem.item_size);
  }
  Problem halves[2] = {problem, problem};
  FactoredProblem types[2] = {factored, factored};
  halves[0].target = halves[1].source = *layout;
  types[0].to = types[1].from = waypoint;
  Plan whole;
  for (int i = 0; i < 2; ++i) {
    SearchLimits rest = limits;
    if (i == 0) rest.rounds /= 2;
    rest.upper_bound = limits.upper_bound - (i == 0 ? least[1] : whole.time);
    if (least[i] >= rest.upper_bound) return std::nullopt;
    TypeLayouts own(halves[i], types[i], &layouts);
    limits.rounds -= rest.rounds;
    const auto plan = search(halves[i], types[i], own, link, rest, overlaps);
    limits.rounds += rest.rounds;
    if (!plan) return std::nullopt;
    whole.time += plan->time;
    whole.steps.insert(whole.steps.end(), plan->steps.begin(), plan->steps.end());
  }
  update_totals(whole, problem, link);
  return whole;
}

}  // namespace weft::reshard
