// SPDX-License-Identifier: Apache-2.0
// Enumerates all ways to cut a graph of layers in two. A cut is described by the set of layers
// before it. If such a set contains a layer, it also contains all layers that this layer depends
// on. Order theory calls these sets ideals. They are the states of PipeDream's optimizer, which
// calls them antichains. A chain of L layers has L ideals. If a graph consists of parallel
// branches, multiply the numbers of ideals of the branches to get the number of ideals of the
// graph. So a graph with many branches has exponentially many ideals.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct Ideals {
  std::size_t words = 0;            ///< 64-bit words per set; bit i of a set stands for layer i
  std::vector<std::uint64_t> sets;  ///< the bits of all sets, set after set; smaller sets first
  std::vector<Nanos> compute;       ///< per set: the time of its layers, forward and backward
  std::vector<Bytes> parameters;    ///< per set
  /// Per set: the bytes that a cut behind the set sends. A last layer of the set is a layer that no
  /// layer of the set reads. The cut sends the outputs of all last layers. Let d be a dependency of
  /// a last layer l. The cut also sends the output of d if d is read by a layer other than l and
  /// the dependencies of l. This is PipeDream's rule. The rule may count the output of d although
  /// all layers that read d are inside the set.
  std::vector<Bytes> output;
  /// The predecessors of set i are before[before_start[i]] .. before[before_start[i + 1] - 1]: the
  /// sets that become set i when one layer and its dependencies are added. The predecessors of set
  /// i, their predecessors, and so on are together all sets inside set i.
  std::vector<std::uint32_t> before, before_start;

  std::size_t size() const { return compute.size(); }
  const std::uint64_t* set(std::size_t i) const { return sets.data() + i * words; }
  /// Whether all layers of set `small` are in set `large`.
  bool within(std::size_t small, std::size_t large) const {
    for (std::size_t w = 0; w < words; ++w) {
      if ((set(small)[w] & ~set(large)[w]) != 0) return false;
    }
    return true;
  }
};

/// Returns the ideals (sets of layers that contain all dependencies of their layers) that can be
/// built from the first source layer by repeatedly adding a layer that reads from the set, together
/// with all of its dependencies. The last ideal holds all layers. Fails with kInfeasible if there
/// are more than `most`. Time and memory are linear in the number of pairs of an ideal and a layer
/// that can be added to it.
Result<Ideals> all_ideals(const Profile& profile, std::size_t most);

}  // namespace weft::pipeline
