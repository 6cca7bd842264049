// SPDX-License-Identifier: Apache-2.0
// Answers whether a schedule can end by a given deadline. The deadline gives every op a time
// window. Constraint propagation narrows the windows: each machine restricts the windows of its ops
// to what its possible orders allow (orders.h). Dependencies between ops then narrow the windows on
// other machines. This repeats until nothing changes. If a machine has no order left, no schedule
// meets the deadline: that is a proof. If orders are left, a depth-first search fixes the orders of
// the machines op by op, starting at the beginning of the step, and propagates again after each
// decision.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "weft/pipeline/schedule/orders.h"

namespace weft::pipeline {

struct Effort {
  std::int64_t decisions = 0;  ///< the search tries at most this many decisions
  std::int64_t dead_ends = 0;  ///< the search gives up after this many dead ends
  /// seed % 3 selects the rule for which machine is decided next. If the seed is 3 or more, the
  /// order in which the search tries the choices is slightly random.
  std::uint32_t seed = 0;
  /// Before each decision, propagate every choice, and first take the choice that leaves the widest
  /// windows in total. The search then takes about three times as long and meets far fewer dead
  /// ends.
  bool looks_ahead = false;
};

enum class Answer { kFound, kNone, kUnknown };

class Search {
 public:
  /// nullopt if a device has more than `most_states` states: too many orders to search.
  static std::optional<Search> make(const Chains& chains, std::size_t most_states);
  /// Searches only orders near `schedule`: no chain of a device is more than `width` ops ahead of
  /// or behind it. kNone then proves nothing about other orders. Returns nullopt in the same case
  /// as make().
  static std::optional<Search> around(const Chains& chains, const Schedule& schedule, Micro width,
                                      std::size_t most_states);

  /// Propagates without searching. False proves that no schedule ends by the deadline; true proves
  /// nothing. The narrowed windows are kept and speed up every later call with an earlier deadline,
  /// so ask about late deadlines first.
  bool may_end_by(Nanos deadline);

  /// kFound: `found` has the orders of all devices. If devices share no links, this schedule meets
  /// the deadline. Shared links may serve in another order than the search assumes, so with shared
  /// links the schedule may be late. kNone: proof that no schedule meets the deadline. Adds the
  /// decisions that were tried to `tried`. Deterministic unless stop_when() ends it.
  Answer find(Nanos deadline, const Effort& effort, Schedule& found, std::int64_t& tried);

  /// Edges of orders built and visited so far. This measures effort independently of the computer.
  std::int64_t visited() const { return made_ + sweep_.visited(); }
  /// `stop` is called often; once it returns true, the search ends as if its visits were used up.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  /// Allows this many more visits. After that, propagation stops early: windows stay wider, but
  /// they remain valid, and find() returns kUnknown.
  void limit_visits(std::int64_t more) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - visited();
    last_visit_ = visited() + std::min(more, room);
  }

 private:
  using Alive = std::shared_ptr<const std::vector<StateId>>;

  /// A node of the search tree: the orders and times that are still possible.
  struct Node {
    Windows windows;
    std::vector<Alive> alive;     ///< per machine: its remaining states
    std::vector<StateId> fronts;  ///< per machine: the order is fixed up to this state
    std::vector<Nanos> times;     ///< per machine: the earliest time at which it reaches its front
  };
  /// The node that propagation of a deadline gives, before any decision.
  struct Root {
    Nanos deadline;
    Node node;
  };
  struct Decision {
    Node before;
    std::size_t machine;
    std::vector<std::size_t> choices;  ///< chains that may run next, by position; the best is last
  };

  explicit Search(Chains chains) : chains_(std::move(chains)) {}
  void index();
  Node start(Nanos deadline) const;
  Node from_scratch(Nanos deadline) const;
  std::optional<Node> root(Nanos deadline);
  bool spent() const { return visited() > last_visit_ || (stop_ && stop_()); }
  bool narrow(Node& node, std::size_t machine);
  bool settle(Node& node);
  void pass_on(Node& node, std::size_t machine);
  void mark(ChainId chain);
  void advance(Node& node, std::size_t machine) const;
  bool is_alive(const Node& node, std::size_t machine, StateId state) const;
  std::optional<Decision> next_decision(const Node& node, const Effort& effort,
                                        std::uint64_t& random);
  std::optional<Nanos> freedom_after(Node node, std::size_t machine, std::size_t position);
  Answer run(Nanos deadline, const Effort& effort, Schedule& found);
  bool decide(Node& node, std::size_t machine, std::size_t position);
  Schedule orders_of(const Node& node) const;
  std::size_t most_kept(const Node& root) const;

  Chains chains_;
  std::vector<Orders> orders_;                      ///< per machine
  std::vector<std::vector<std::size_t>> machines_;  ///< per chain: the machines that it occupies
  std::vector<std::vector<Arc>> out_, in_;          ///< per chain
  std::vector<bool> dirty_;                         ///< per machine: must propagate again
  std::int64_t decided_ = 0;                        ///< decisions tried in the life of this object
  Sweep sweep_;
  std::int64_t made_ =
      0;  ///< edges of all orders, times two: building one costs as much as two visits
  std::function<bool()> stop_;  ///< may be empty
  std::int64_t last_visit_ = std::numeric_limits<std::int64_t>::max();
  /// `latest_` has the root of the largest deadline so far. `last_` has the root of the last
  /// deadline that was not larger than all deadlines before it.
  std::optional<Root> latest_, last_;
};

}  // namespace weft::pipeline
