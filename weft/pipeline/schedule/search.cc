// SPDX-License-Identifier: Apache-2.0
// A machine is dirty if the windows of its ops have changed since it was last narrowed. settle()
// propagates until no machine is dirty. Sweep narrows the windows of a dirty machine. Then
// pass_on() follows the arcs to the ops before and after the ops of this machine and narrows their
// windows too. This makes other machines dirty. The search (run) is depth-first with backtracking
// over copies of Node, which share unchanged state lists. It drops its oldest decisions if the
// copies need too much memory; after that it can still find schedules but can no longer prove that
// there is none.
#include "weft/pipeline/schedule/search.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace weft::pipeline {
namespace {

/// Every decision keeps a copy of the node before it. This is the limit for the memory of all
/// copies.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// Decides ties between choices: gradients that other devices wait for go first, then forwards,
/// then gradients of weights.
int rank(const Chain& chain) {
  if (chain.kind == Kind::kWeight) return 2;
  return chain.kind == Kind::kForward ? 1 : 0;
}

/// The search also decides the order of transfers on a link if the link has at most this many
/// states.
constexpr std::size_t kMostLinkStates = 20'000;

bool is_link(const Chains& chains, const Machine& machine) {
  return !machine.chains.empty() && chains.chains[machine.chains.front()].is_transfer;
}

/// Splits links with too many orders: each chain gets a separate link. This relaxes the problem, so
/// proofs that no schedule exists stay valid.
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

/// Converts an order of a device to positions of chains. The order may have whole backwards where
/// the chains have halves, or halves where the chains are whole.
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

/// xorshift64: the same sequence on every machine, unlike distributions of the standard library.
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

/// The node to start from. A schedule that meets this deadline also meets every later deadline,
/// even if the whole schedule is shifted by the difference of the two deadlines. So a state that
/// was ruled out for a later deadline is ruled out for this one too, and every window ends earlier
/// by at least the difference.
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

/// Applies Sweep to one machine. Returns false if the machine has no order left.
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

/// Narrows the windows of all ops that wait for an op of this machine, and of all ops that an op of
/// this machine waits for.
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

/// Propagates until no machine is dirty or the visits are used up. Returns false if some machine
/// has no order left.
bool Search::settle(Node& node) {
  bool possible = true;
  for (bool any = true; any && possible;) {
    any = false;
    for (std::size_t machine = 0; machine < dirty_.size() && possible; ++machine) {
      if (!dirty_[machine] || spent()) continue;
      any = true;
      possible = narrow(node, machine);
      if (!possible) break;
      // A transfer may occupy several links, and its window is shared by all of them.
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

/// The front of a machine is the state up to which its order is fixed. Moves the front forward as
/// long as only one op can be next.
void Search::advance(Node& node, std::size_t machine) const {
  const Orders& orders = orders_[machine];
  StateId& front = node.fronts[machine];
  while (front != orders.last()) {
    std::size_t only = 0;
    int ways = 0;
    for (std::size_t position = 0; position < orders.width() && ways < 2; ++position) {
      const StateId next = orders.next(front, position);
      if (next < 0 || !is_alive(node, machine, next)) continue;
      only = position;
      ++ways;
    }
    if (ways != 1) return;
    const ChainId chain = chains_.machines[machine].chains[only];
    node.times[machine] = node.windows.release[node.windows.at(chain, orders.count(front, only))] +
                          chains_.chains[chain].duration;
    front = orders.next(front, only);
  }
}

/// Chooses the machine to decide on and sorts its choices. nullopt: all orders are fixed.
std::optional<Search::Decision> Search::next_decision(const Node& node, const Effort& effort,
                                                      std::uint64_t& random) {
  // One of three rules chooses the machine. It is the machine whose next decision is earliest in
  // time, or the machine with the most remaining states, or the machine with the largest number.
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
  struct Choice {
    Nanos start;
    int rank;
    StageId stage;
    std::size_t position;
  };
  std::vector<Choice> found;
  const Orders& orders = orders_[*first];
  const StateId front = node.fronts[*first];
  for (std::size_t position = 0; position < orders.width(); ++position) {
    const StateId next = orders.next(front, position);
    if (next < 0 || !is_alive(node, *first, next)) continue;
    const ChainId id = chains_.machines[*first].chains[position];
    const Chain& chain = chains_.chains[id];
    const std::size_t at = node.windows.at(id, orders.count(front, position));
    Nanos start = std::max(node.times[*first], node.windows.release[at]);
    // A little randomness makes restarts search other parts of the tree.
    if (effort.seed >= 3) {
      start += static_cast<Nanos>(next_random(random) %
                                  static_cast<std::uint64_t>(chain.duration / 2 + 1));
    }
    if (effort.looks_ahead) {
      const auto freedom = freedom_after(node, *first, position);
      if (!freedom) continue;  // propagation has ruled this choice out
      start = -*freedom;
    }
    found.push_back({start, rank(chain), chain.stage, position});
  }
  // Choices are tried from the back of the list. So the choice that can start first (or leaves the
  // widest windows) comes last.
  std::sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) {
    return std::tie(b.start, b.rank, a.stage) < std::tie(a.start, a.rank, b.stage);
  });
  Decision decision{node, *first, {}};
  for (const Choice& choice : found) decision.choices.push_back(choice.position);
  return decision;
}

/// The sum of all window lengths after a decision; nullopt: the decision is impossible.
std::optional<Nanos> Search::freedom_after(Node node, std::size_t machine, std::size_t position) {
  if (!decide(node, machine, position)) return std::nullopt;
  Nanos sum = 0;
  for (std::size_t i = 0; i < node.windows.due.size(); ++i) {
    sum += node.windows.due[i] - node.windows.release[i];
  }
  return sum;
}

/// Fixes the next op of a machine: the next op of the chain at `position`. The order is fixed up to
/// the front, so it is enough to remove all other states that follow the front. Returns false if
/// this decision leads to a dead end.
bool Search::decide(Node& node, std::size_t machine, std::size_t position) {
  ++decided_;
  const Orders& orders = orders_[machine];
  const StateId front = node.fronts[machine];
  std::vector<StateId> alive = *node.alive[machine];
  for (std::size_t other = 0; other < orders.width(); ++other) {
    const StateId next = orders.next(front, other);
    if (other == position || next < 0) continue;
    const auto at = std::lower_bound(alive.begin(), alive.end(), next);
    if (at != alive.end() && *at == next) alive.erase(at);
  }
  node.alive[machine] = std::make_shared<const std::vector<StateId>>(std::move(alive));
  dirty_[machine] = true;
  return settle(node);
}

/// The fixed orders of all devices. Devices come first among the machines, links after them.
Schedule Search::orders_of(const Node& node) const {
  Schedule schedule;
  for (std::size_t machine = 0; machine < orders_.size(); ++machine) {
    const auto& chains = chains_.machines[machine].chains;
    if (is_link(chains_, chains_.machines[machine])) break;
    schedule.orders.emplace_back();
    const Orders& orders = orders_[machine];
    for (StateId state = 0; state != orders.last();) {
      for (std::size_t position = 0; position < orders.width(); ++position) {
        const StateId next = orders.next(state, position);
        if (next < 0 || !is_alive(node, machine, next)) continue;
        const Chain& chain = chains_.chains[chains[position]];
        schedule.orders.back().push_back({chain.stage, chain.kind, orders.count(state, position)});
        state = next;
        break;
      }
    }
  }
  return schedule;
}

/// How many decisions may keep a copy of their node. It follows from the size of the largest node.
std::size_t Search::most_kept(const Node& root) const {
  std::size_t bytes = root.windows.release.size() * 2 * sizeof(Nanos);
  for (const Alive& alive : root.alive) bytes += alive->size() * sizeof(StateId);
  return std::max<std::size_t>(16, kMostBytes / bytes);
}

/// Propagates the deadline without any decision, and keeps the result for later calls with the same
/// or an earlier deadline. nullopt proves that no schedule meets the deadline.
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
  bool complete = true;  // no decision was dropped with choices left
  std::int64_t dead_ends = 0;
  while (true) {
    auto decision = next_decision(*node, effort, random);
    if (!decision) {
      found = orders_of(*node);
      return Answer::kFound;
    }
    if (decision->choices.empty()) ++dead_ends;
    decisions.push_back(std::move(*decision));
    if (decisions.size() > most) {
      // Out of memory for copies: forget the oldest decision, and with it the proof.
      decisions.pop_front();
      complete = false;
    }
    // Backtrack to the last decision that has a choice left, and take its best choice.
    for (bool possible = false; !possible;) {
      while (!decisions.empty() && decisions.back().choices.empty()) decisions.pop_back();
      if (decisions.empty()) return complete ? Answer::kNone : Answer::kUnknown;
      if (decided_ > last_decision || dead_ends > effort.dead_ends) return Answer::kUnknown;
      if (spent()) return Answer::kUnknown;
      Decision& last = decisions.back();
      const std::size_t position = last.choices.back();
      last.choices.pop_back();
      *node = last.before;
      possible = decide(*node, last.machine, position);
      if (!possible) ++dead_ends;
    }
  }
}

}  // namespace weft::pipeline
