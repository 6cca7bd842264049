// SPDX-License-Identifier: Apache-2.0
// Is there a schedule that ends by a deadline? Windows of all ops follow from the deadline; each
// machine narrows those of its ops to what its orders allow (orders.h), arcs pass that on to other
// machines, until nothing changes. If a machine has no order left, no schedule ends in time, which
// is a proof. Else the search decides the order of the machines from their beginning on, always
// where the next decision is due first, and narrows again after each.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "weft/pipeline/schedule/orders.h"

namespace weft::pipeline {

struct Effort {
  std::int64_t decisions = 0;  ///< to try at most
  std::int64_t dead_ends = 0;  ///< to run into at most
  /// Seeds modulo 3 differ in which machine is decided next, those from 3 on choose a little at
  /// random.
  std::uint32_t seed = 0;
  /// Try every way on before each decision, and first take the one that leaves most freedom. Three
  /// times the work for far fewer dead ends.
  bool looks_ahead = false;
};

enum class Answer { kFound, kNone, kUnknown };

class Search {
 public:
  /// nullopt where a machine has more states than `most_states`: too many orders to keep.
  static std::optional<Search> make(const Chains& chains, std::size_t most_states);
  /// Only orders in which no chain of a device is more than `width` ops ahead of or behind
  /// `schedule`: kNone means none of these then. nullopt as above.
  static std::optional<Search> around(const Chains& chains, const Schedule& schedule, Micro width,
                                      std::size_t most_states);

  /// False: no schedule ends by the deadline. True says little; what was found out then serves all
  /// earlier deadlines, so that asking about late ones first saves work.
  bool may_end_by(Nanos deadline);

  /// kFound: `found` has the orders of all devices, and ends in time unless links are shared;
  /// kNone: there is no such schedule, for certain. `tried` grows by the decisions that it took.
  /// Deterministic but for stop_when().
  Answer find(Nanos deadline, const Effort& effort, Schedule& found, std::int64_t& tried);

  /// Edges of orders made and visited so far: what has been spent, the same on every machine.
  std::int64_t visited() const { return made_ + sweep_.visited(); }
  /// Asked now and then; true: as if all visits were spent.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  /// So many more at most: then windows stay wider than they need be, and find() gives up.
  void limit_visits(std::int64_t more) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - visited();
    last_visit_ = visited() + std::min(more, room);
  }

 private:
  using Alive = std::shared_ptr<const std::vector<StateId>>;

  /// What is left to choose from.
  struct Node {
    Windows windows;
    std::vector<Alive> alive;     ///< by machine
    std::vector<StateId> fronts;  ///< by machine: its order is decided up to here
    std::vector<Nanos> times;     ///< by machine: when it gets there at the earliest
  };
  /// What a deadline leaves.
  struct Root {
    Nanos deadline;
    Node node;
  };
  struct Decision {
    Node before;
    std::size_t machine;
    std::vector<std::size_t> sides;  ///< chains of the machine that may go on, the worst first
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
  std::optional<Nanos> freedom_after(Node node, std::size_t machine, std::size_t side);
  Answer run(Nanos deadline, const Effort& effort, Schedule& found);
  bool decide(Node& node, std::size_t machine, std::size_t side);
  Schedule orders_of(const Node& node) const;
  std::size_t most_kept(const Node& root) const;

  Chains chains_;
  std::vector<Orders> orders_;                      ///< by machine
  std::vector<std::vector<std::size_t>> machines_;  ///< of each chain
  std::vector<std::vector<Arc>> out_, in_;          ///< of each chain
  std::vector<bool> dirty_;                         ///< by machine
  std::int64_t decided_ = 0;                        ///< decisions tried, since the search was made
  Sweep sweep_;
  std::int64_t made_ = 0;       ///< edges of all orders, each of which takes two visits to find
  std::function<bool()> stop_;  ///< may be empty
  std::int64_t last_visit_ = std::numeric_limits<std::int64_t>::max();
  std::optional<Root> latest_, last_;  ///< of the latest deadline, and the last one that was open
};

}  // namespace weft::pipeline
