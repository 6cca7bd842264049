// SPDX-License-Identifier: Apache-2.0
// Represents all orders in which one machine can merge its chains as a graph. Each path from the
// first state to the last is one order. A state says how many ops of each chain have run. An edge
// runs the next op of one chain. The ops of a chain are equal and run in order, so there are few
// states: about M K^2 for a stage with M micro-batches of which K fit into memory. Reaching a state
// early is never worse than reaching it late. So of all paths to a state, only the earliest time at
// which one of them reaches it matters. One forward and one backward sweep over the states
// therefore solve a single machine exactly, for any time windows and with its memory limit. The
// usual methods of scheduling, edge finding and preemptive bounds, only approximate this.
#pragma once

#include "weft/pipeline/schedule/chains.h"

namespace weft::pipeline {

using StateId = std::int32_t;

/// For op k of each chain: the earliest time at which it may start (`release`), and the time by
/// which it must have ended (`due`).
struct Windows {
  Windows(const Chains& chains, Nanos deadline);

  Micro length;
  std::vector<Nanos> release, due;  ///< [chain * length + k]

  std::size_t at(ChainId chain, Micro k) const {
    return static_cast<std::size_t>(chain) * length + k;
  }
};

/// The graph of all possible orders of the ops of one machine. It has no times; those are in
/// Windows.
class Orders {
 public:
  /// nullopt if there are more than `most` states.
  static std::optional<Orders> make(const Chains& chains, const Machine& machine, std::size_t most);
  /// Makes the graph of only the states near a given order. `path` describes that order: element i
  /// is the chain of the i-th op, as a position in Machine::chains. In a state near the order, no
  /// chain is more than `width` ops ahead of or behind the order. Returns nullopt if there are more
  /// than `most` such states.
  static std::optional<Orders> corridor(const Chains& chains, const Machine& machine,
                                        const std::vector<std::size_t>& path, Micro width,
                                        std::size_t most);

  std::size_t size() const { return counts_.size() / width_; }
  std::size_t width() const { return width_; }  ///< number of chains of the machine
  StateId last() const { return static_cast<StateId>(size()) - 1; }
  Micro count(StateId state, std::size_t chain) const {
    return counts_[static_cast<std::size_t>(state) * width_ + chain];
  }
  /// The state after the next op of the chain; -1 if that op is not allowed here.
  StateId next(StateId state, std::size_t chain) const {
    return next_[static_cast<std::size_t>(state) * width_ + chain];
  }
  Micro level(StateId state) const;  ///< number of ops that have run

 private:
  void connect();  ///< fills next_

  std::size_t width_ = 0;
  /// By state: the ops of each chain that have run. States are sorted by these counts, so that
  /// every edge leads to a state with a larger number.
  std::vector<Micro> counts_;
  std::vector<StateId> next_;
};

/// Narrows the windows of one machine to what its orders allow.
class Sweep {
 public:
  /// Drops from `alive` (sorted) all states that lie on no order within all windows, and narrows
  /// the windows of the ops of the machine to the times that the remaining orders use. Returns
  /// false if no order remains. Linear in the states.
  bool run(const Chains& chains, const Machine& machine, const Orders& orders,
           std::vector<StateId>& alive, Windows& windows);
  /// Whether the last run narrowed a window of the chain at this position in Machine::chains.
  bool changed(std::size_t position) const {
    return chain_windows_[position].release != chain_windows_[position].new_release ||
           chain_windows_[position].due != chain_windows_[position].new_due;
  }
  /// Edges visited so far. This measures effort independently of the speed of the computer.
  std::int64_t visited() const { return visited_; }

 private:
  bool forwards(const Orders& orders, const std::vector<StateId>& alive);
  bool backwards(const Orders& orders, const std::vector<StateId>& alive);

  struct ChainWindows {
    Nanos duration;
    std::vector<Nanos> release, due;          ///< before the run
    std::vector<Nanos> new_release, new_due;  ///< used by the remaining orders
  };
  std::vector<ChainWindows> chain_windows_;
  std::vector<Nanos> earliest_, latest_;  ///< by state; outside a run earliest_ is kDead
  std::int64_t visited_ = 0;
};

}  // namespace weft::pipeline
