// SPDX-License-Identifier: Apache-2.0
// Enumerates all ways to cut a graph of layers in two. A cut is described by the set of layers
// before it. If such a set contains a layer, it also contains all layers that this layer depends
// on. Order theory calls these sets ideals. They are the states of PipeDream's optimizer, which
// calls them antichains. A chain of L layers has L ideals. The number of ideals of parallel
// branches is the product of the numbers of the branches, so a graph with many branches has
// exponentially many ideals.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct Ideals {
  std::size_t words = 0;            ///< 64-bit words per set; bit i of a set stands for layer i
  std::vector<std::uint64_t> sets;  ///< the bits of all sets, set after set; smaller sets first
  std::vector<Nanos> compute;       ///< per set: forward and backward of its layers
  std::vector<Bytes> parameters;    ///< per set
  /// Per set: the bytes that a cut behind the set sends. A last layer of the set is a layer that no
  /// layer of the set reads. The cut sends the outputs of all last layers. It also sends the output
  /// of each dependency of a last layer if a layer reads that output which is neither the last
  /// layer nor one of its dependencies. This is PipeDream's rule. It may count a layer although all
  /// of its readers are inside the set.
  std::vector<Bytes> output;
  /// The predecessors of set i are before[before_start[i]] .. before[before_start[i + 1] - 1]: the
  /// sets that become set i when one layer and its dependencies are added. Whoever goes from set i
  /// to its predecessors, and on to their predecessors, reaches every set inside set i.
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

/// The ideals that can be built from the first source layer by repeatedly adding a layer that reads
/// from the set, together with all of its dependencies. The last ideal holds all layers. Fails with
/// kInfeasible if there are more than `most`. Time and memory are linear in the number of pairs of
/// an ideal and a layer that can be added to it.
Result<Ideals> all_ideals(const Profile& profile, std::size_t most);

}  // namespace weft::pipeline
