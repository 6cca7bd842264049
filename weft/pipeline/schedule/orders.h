// SPDX-License-Identifier: Apache-2.0
// All orders in which one machine may merge its chains, as paths of a graph. A state says how many
// ops of each chain have run; an edge runs the next op of one chain. Since the ops of a chain are
// equal and in order, the states are few (about M K^2 for M micro-batches of which K fit into
// memory), and the earliest time to reach a state says all about the way there: one sweep forwards
// and one back solve the machine exactly, for any windows, with its memory. That is what edge
// finding and preemptive bounds only approximate.
#pragma once

#include "weft/pipeline/schedule/chains.h"

namespace weft::pipeline {

using StateId = std::int32_t;

/// When op k of each chain may start at the earliest and must end at the latest.
struct Windows {
  Windows(const Chains& chains, Nanos deadline);

  Micro length;
  std::vector<Nanos> release, due;  ///< [chain * length + k]

  std::size_t at(ChainId chain, Micro k) const {
    return static_cast<std::size_t>(chain) * length + k;
  }
};

/// The graph of a machine, without times.
class Orders {
 public:
  /// nullopt where there are more than `most` states.
  static std::optional<Orders> make(const Chains& chains, const Machine& machine, std::size_t most);
  /// Only states in which no chain is more than `width` ops ahead of or behind `path`, an order of
  /// the machine as positions in Machine::chains. nullopt where these are more than `most`.
  static std::optional<Orders> corridor(const Chains& chains, const Machine& machine,
                                        const std::vector<std::size_t>& path, Micro width,
                                        std::size_t most);

  std::size_t size() const { return counts_.size() / width_; }
  std::size_t width() const { return width_; }  ///< chains
  StateId last() const { return static_cast<StateId>(size()) - 1; }
  Micro count(StateId state, std::size_t chain) const {
    return counts_[static_cast<std::size_t>(state) * width_ + chain];
  }
  /// The state after the next op of the chain; -1: there is none.
  StateId next(StateId state, std::size_t chain) const {
    return next_[static_cast<std::size_t>(state) * width_ + chain];
  }
  Micro level(StateId state) const;  ///< ops that have run

 private:
  void connect();  ///< fills next_

  std::size_t width_ = 0;
  std::vector<Micro> counts_;  ///< in the order of the counts, so that edges point upwards
  std::vector<StateId> next_;
};

/// Keeps of `alive` the states that lie on an order within all windows, and narrows the windows of
/// the machine's ops to those of such orders. False: there is none. Linear in states.
class Sweep {
 public:
  bool run(const Chains& chains, const Machine& machine, const Orders& orders,
           std::vector<StateId>& alive, Windows& windows);
  /// Whether the last run narrowed a window of the machine's chain at `side`.
  bool changed(std::size_t side) const {
    return sides_[side].release != sides_[side].new_release ||
           sides_[side].due != sides_[side].new_due;
  }
  /// Edges visited so far: what has been spent, the same on every machine.
  std::int64_t visited() const { return visited_; }

 private:
  bool forwards(const Orders& orders, const std::vector<StateId>& alive);
  bool backwards(const Orders& orders, const std::vector<StateId>& alive);

  struct Side {
    Nanos duration;
    std::vector<Nanos> release, due;          ///< as given
    std::vector<Nanos> new_release, new_due;  ///< of orders that are left
  };
  std::vector<Side> sides_;
  std::vector<Nanos> earliest_, latest_;  ///< by state; kDead in `earliest_` of all but `alive`
  std::int64_t visited_ = 0;
};

}  // namespace weft::pipeline
