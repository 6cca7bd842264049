// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/search.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace weft::pipeline {
namespace {

/// Decisions keep what was there before them; no more than this together.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// Gradients that others wait for come first, then forwards of late stages, weights last.
int rank(const Chain& chain) {
  if (chain.kind == Kind::kWeight) return 2;
  return chain.kind == Kind::kForward ? 1 : 0;
}

/// States of a link up to which the turns of its transfers are searched, too.
constexpr std::size_t kMostLinkStates = 20'000;

bool is_link(const Chains& chains, const Machine& machine) {
  return !machine.chains.empty() && chains.chains[machine.chains.front()].is_transfer;
}

/// Links with very many orders forget that they are shared, which can only make things faster.
Chains with_simple_links(const Chains& chains) {
  Chains simple = chains;
  simple.machines.clear();
  for (const Machine& machine : chains.machines) {
    double states = 1;
    for (std::size_t i = 0; i < machine.chains.size(); ++i) states *= chains.length + 1;
    if (!is_link(chains, machine) || machine.chains.size() == 1 || states <= kMostLinkStates) {
      simple.machines.push_back(machine);
      continue;
    }
    for (const ChainId chain : machine.chains) simple.machines.push_back({{chain}, {}, {}});
  }
  return simple;
}

/// An order of a device as positions of chains, whether the order halves backwards or not.
std::vector<std::size_t> path_of(const Chains& chains, const Machine& machine,
                                 const std::vector<Op>& order) {
  std::vector<std::size_t> path;
  const auto add = [&](StageId stage, Kind kind) {
    for (std::size_t i = 0; i < machine.chains.size(); ++i) {
      const Chain& chain = chains.chains[machine.chains[i]];
      if (chain.stage != stage || chain.kind != kind) continue;
      path.push_back(i);
      return true;
    }
    return false;
  };
  for (const Op& op : order) {
    if (add(op.stage, op.kind)) continue;
    if (op.kind == Kind::kBackward) {
      add(op.stage, Kind::kInput);
      add(op.stage, Kind::kWeight);
    } else if (op.kind == Kind::kInput) {
      add(op.stage, Kind::kBackward);
    }
  }
  return path;
}

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

std::optional<Search> Search::make(const Chains& chains, std::size_t most_states) {
  Search search(with_simple_links(chains));
  for (const Machine& machine : search.chains_.machines) {
    auto orders = Orders::make(search.chains_, machine, most_states);
    if (!orders) return std::nullopt;
    search.orders_.push_back(std::move(*orders));
  }
  search.index();
  return search;
}

std::optional<Search> Search::around(const Chains& chains, const Schedule& schedule, Micro width,
                                     std::size_t most_states) {
  Search search(with_simple_links(chains));
  for (std::size_t m = 0; m < search.chains_.machines.size(); ++m) {
    const Machine& machine = search.chains_.machines[m];
    auto orders = m < schedule.orders.size()
                      ? Orders::corridor(search.chains_, machine,
                                         path_of(search.chains_, machine, schedule.orders[m]),
                                         width, most_states)
                      : Orders::make(search.chains_, machine, kMostLinkStates);
    if (!orders) return std::nullopt;
    search.orders_.push_back(std::move(*orders));
  }
  search.index();
  return search;
}

void Search::index() {
  for (const Orders& orders : orders_) {
    made_ += 2 * static_cast<std::int64_t>(orders.size() * orders.width());
  }
  machines_.resize(chains_.chains.size());
  for (std::size_t m = 0; m < chains_.machines.size(); ++m) {
    for (const ChainId chain : chains_.machines[m].chains) machines_[chain].push_back(m);
  }
  out_.resize(chains_.chains.size());
  in_.resize(chains_.chains.size());
  for (const Arc& arc : chains_.arcs) {
    out_[arc.from].push_back(arc);
    in_[arc.to].push_back(arc);
  }
  dirty_.assign(chains_.machines.size(), false);
}

Search::Node Search::from_scratch(Nanos deadline) const {
  Node node{Windows(chains_, deadline), {}, {}, {}};
  for (const Orders& orders : orders_) {
    std::vector<StateId> all(orders.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<StateId>(i);
    node.alive.push_back(std::make_shared<const std::vector<StateId>>(std::move(all)));
  }
  node.fronts.assign(orders_.size(), 0);
  node.times.assign(orders_.size(), 0);
  return node;
}

/// Whatever ends by a deadline ends by a later one, and does so even if it starts later by the
/// difference. So all that the later deadline has ruled out stays ruled out, and windows end
/// earlier by the difference at least.
Search::Node Search::start(Nanos deadline) const {
  const Root* later = nullptr;
  for (const auto* root : {&last_, &latest_}) {
    if (!later && *root && (*root)->deadline >= deadline) later = &**root;
  }
  if (!later) return from_scratch(deadline);
  Node node = later->node;
  for (Nanos& due : node.windows.due) due -= later->deadline - deadline;
  node.fronts.assign(orders_.size(), 0);
  node.times.assign(orders_.size(), 0);
  return node;
}

bool Search::narrow(Node& node, std::size_t machine) {
  std::vector<StateId> alive = *node.alive[machine];
  if (!sweep_.run(chains_, chains_.machines[machine], orders_[machine], alive, node.windows)) {
    return false;
  }
  if (alive.size() < node.alive[machine]->size()) {
    node.alive[machine] = std::make_shared<const std::vector<StateId>>(std::move(alive));
  }
  return true;
}

void Search::mark(ChainId chain) {
  for (const std::size_t machine : machines_[chain]) dirty_[machine] = true;
}

/// Windows of ops before and behind those of the machine.
void Search::pass_on(Node& node, std::size_t machine) {
  Windows& windows = node.windows;
  for (const ChainId chain : chains_.machines[machine].chains) {
    const Nanos duration = chains_.chains[chain].duration;
    for (const Arc& arc : out_[chain]) {
      for (Micro k = 0; k < windows.length; ++k) {
        const Nanos start = windows.release[windows.at(chain, k)] + duration + arc.delay;
        Nanos& release = windows.release[windows.at(arc.to, k)];
        if (start <= release) continue;
        release = start;
        mark(arc.to);
      }
    }
    for (const Arc& arc : in_[chain]) {
      for (Micro k = 0; k < windows.length; ++k) {
        const Nanos end = windows.due[windows.at(chain, k)] - duration - arc.delay;
        Nanos& due = windows.due[windows.at(arc.from, k)];
        if (end >= due) continue;
        due = end;
        mark(arc.from);
      }
    }
  }
}

/// Until no machine has anything new to say, or all visits are spent.
bool Search::settle(Node& node) {
  bool possible = true;
  for (bool any = true; any && possible;) {
    any = false;
    for (std::size_t machine = 0; machine < dirty_.size() && possible; ++machine) {
      if (!dirty_[machine] || spent()) continue;
      any = true;
      possible = narrow(node, machine);
      if (!possible) break;
      // A transfer may hold several links: each of them shall know what the others do.
      const auto& chains = chains_.machines[machine].chains;
      for (std::size_t i = 0; i < chains.size(); ++i) {
        if (machines_[chains[i]].size() > 1 && sweep_.changed(i)) mark(chains[i]);
      }
      dirty_[machine] = false;
      pass_on(node, machine);
    }
  }
  std::fill(dirty_.begin(), dirty_.end(), false);
  for (std::size_t machine = 0; possible && machine < dirty_.size(); ++machine) {
    advance(node, machine);
  }
  return possible;
}

bool Search::is_alive(const Node& node, std::size_t machine, StateId state) const {
  const auto& alive = *node.alive[machine];
  return std::binary_search(alive.begin(), alive.end(), state);
}

/// Moves the front on as long as there is no choice.
void Search::advance(Node& node, std::size_t machine) const {
  const Orders& orders = orders_[machine];
  StateId& front = node.fronts[machine];
  while (front != orders.last()) {
    std::size_t only = 0;
    int ways = 0;
    for (std::size_t side = 0; side < orders.width() && ways < 2; ++side) {
      const StateId next = orders.next(front, side);
      if (next < 0 || !is_alive(node, machine, next)) continue;
      only = side;
      ++ways;
    }
    if (ways != 1) return;
    const ChainId chain = chains_.machines[machine].chains[only];
    node.times[machine] = node.windows.release[node.windows.at(chain, orders.count(front, only))] +
                          chains_.chains[chain].duration;
    front = orders.next(front, only);
  }
}

std::optional<Search::Decision> Search::next_decision(const Node& node, const Effort& effort,
                                                      std::uint64_t& random) {
  // Where the next decision is due first; or where most is open; or from the last machine back.
  const auto urgency = [&](std::size_t machine) {
    if (effort.seed % 3 == 0) return node.times[machine];
    if (effort.seed % 3 == 1) return -static_cast<Nanos>(node.alive[machine]->size());
    return -static_cast<Nanos>(machine);
  };
  std::optional<std::size_t> first;
  for (std::size_t machine = 0; machine < orders_.size(); ++machine) {
    if (node.fronts[machine] == orders_[machine].last()) continue;
    if (!first || urgency(machine) < urgency(*first)) first = machine;
  }
  if (!first) return std::nullopt;
  struct Way {
    Nanos start;
    int rank;
    StageId stage;
    std::size_t side;
  };
  std::vector<Way> ways;
  const Orders& orders = orders_[*first];
  const StateId front = node.fronts[*first];
  for (std::size_t side = 0; side < orders.width(); ++side) {
    const StateId next = orders.next(front, side);
    if (next < 0 || !is_alive(node, *first, next)) continue;
    const ChainId id = chains_.machines[*first].chains[side];
    const Chain& chain = chains_.chains[id];
    const std::size_t at = node.windows.at(id, orders.count(front, side));
    Nanos start = std::max(node.times[*first], node.windows.release[at]);
    if (effort.seed >= 3) {
      start += static_cast<Nanos>(next_random(random) %
                                  static_cast<std::uint64_t>(chain.duration / 2 + 1));
    }
    if (effort.looks_ahead) {
      const auto freedom = freedom_after(node, *first, side);
      if (!freedom) continue;
      start = -*freedom;
    }
    ways.push_back({start, rank(chain), chain.stage, side});
  }
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return std::tie(b.start, b.rank, a.stage) < std::tie(a.start, a.rank, b.stage);
  });
  Decision decision{node, *first, {}};
  for (const Way& way : ways) decision.sides.push_back(way.side);
  return decision;
}

/// How long all windows are together after a decision; nullopt: it is impossible.
std::optional<Nanos> Search::freedom_after(Node node, std::size_t machine, std::size_t side) {
  if (!decide(node, machine, side)) return std::nullopt;
  Nanos sum = 0;
  for (std::size_t i = 0; i < node.windows.due.size(); ++i) {
    sum += node.windows.due[i] - node.windows.release[i];
  }
  return sum;
}

/// The machine's next op is that of the chain at `side`. Its order is decided up to the front, so
/// the other states after the front are the only ones to go.
bool Search::decide(Node& node, std::size_t machine, std::size_t side) {
  ++decided_;
  const Orders& orders = orders_[machine];
  const StateId front = node.fronts[machine];
  std::vector<StateId> alive = *node.alive[machine];
  for (std::size_t other = 0; other < orders.width(); ++other) {
    const StateId next = orders.next(front, other);
    if (other == side || next < 0) continue;
    const auto at = std::lower_bound(alive.begin(), alive.end(), next);
    if (at != alive.end() && *at == next) alive.erase(at);
  }
  node.alive[machine] = std::make_shared<const std::vector<StateId>>(std::move(alive));
  dirty_[machine] = true;
  return settle(node);
}

Schedule Search::orders_of(const Node& node) const {
  Schedule schedule;
  for (std::size_t machine = 0; machine < orders_.size(); ++machine) {
    const auto& chains = chains_.machines[machine].chains;
    if (is_link(chains_, chains_.machines[machine])) break;
    schedule.orders.emplace_back();
    const Orders& orders = orders_[machine];
    for (StateId state = 0; state != orders.last();) {
      for (std::size_t side = 0; side < orders.width(); ++side) {
        const StateId next = orders.next(state, side);
        if (next < 0 || !is_alive(node, machine, next)) continue;
        const Chain& chain = chains_.chains[chains[side]];
        schedule.orders.back().push_back({chain.stage, chain.kind, orders.count(state, side)});
        state = next;
        break;
      }
    }
  }
  return schedule;
}

std::size_t Search::most_kept(const Node& root) const {
  std::size_t bytes = root.windows.release.size() * 2 * sizeof(Nanos);
  for (const Alive& alive : root.alive) bytes += alive->size() * sizeof(StateId);
  return std::max<std::size_t>(16, kMostBytes / bytes);
}

std::optional<Search::Node> Search::root(Nanos deadline) {
  Node node = start(deadline);
  std::fill(dirty_.begin(), dirty_.end(), true);
  if (!settle(node)) return std::nullopt;
  auto& kept = latest_ && deadline <= latest_->deadline ? last_ : latest_;
  kept = Root{deadline, node};
  return node;
}

bool Search::may_end_by(Nanos deadline) { return root(deadline).has_value(); }

Answer Search::find(Nanos deadline, const Effort& effort, Schedule& found, std::int64_t& tried) {
  const std::int64_t before = decided_++;
  const Answer answer = run(deadline, effort, found);
  tried += decided_ - before;
  return answer;
}

Answer Search::run(Nanos deadline, const Effort& effort, Schedule& found) {
  std::optional<Node> node = root(deadline);
  if (!node) return Answer::kNone;
  const std::size_t most = most_kept(*node);
  const std::int64_t last_decision = decided_ + effort.decisions;
  std::uint64_t random = 0x9E3779B97F4A7C15ull * (effort.seed + 1);
  std::deque<Decision> decisions;
  bool complete = true;  // nothing has been dropped untried
  std::int64_t dead_ends = 0;
  while (true) {
    auto decision = next_decision(*node, effort, random);
    if (!decision) {
      found = orders_of(*node);
      return Answer::kFound;
    }
    if (decision->sides.empty()) ++dead_ends;
    decisions.push_back(std::move(*decision));
    if (decisions.size() > most) {
      decisions.pop_front();
      complete = false;
    }
    // The best way on of the last decision that has one.
    for (bool possible = false; !possible;) {
      while (!decisions.empty() && decisions.back().sides.empty()) decisions.pop_back();
      if (decisions.empty()) return complete ? Answer::kNone : Answer::kUnknown;
      if (decided_ > last_decision || dead_ends > effort.dead_ends) return Answer::kUnknown;
      if (spent()) return Answer::kUnknown;
      Decision& last = decisions.back();
      const std::size_t side = last.sides.back();
      last.sides.pop_back();
      *node = last.before;
      possible = decide(*node, last.machine, side);
      if (!possible) ++dead_ends;
    }
  }
}

}  // namespace weft::pipeline
