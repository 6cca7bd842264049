// SPDX-License-Identifier: Apache-2.0
// All ways to cut a graph of layers in two: sets of layers that hold with a layer all that it
// needs. They are the states of PipeDream's optimizer, which calls them antichains. A chain of L
// layers has L of them, parallel branches multiply.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct Ideals {
  std::size_t words = 0;            ///< of 64 layers, a set
  std::vector<std::uint64_t> sets;  ///< all of them, one after the other; smaller sets first
  std::vector<Nanos> compute;       ///< forward and backward of a set
  std::vector<Bytes> parameters;
  /// What a cut behind the set sends on: its last layers, and those before them that have a reader
  /// which is not among what the last layer in question needs. (So PipeDream counts: it may count a
  /// layer all of whose readers are inside.)
  std::vector<Bytes> output;
  /// Of each set those that become it by one more layer with all that it needs: before[i] are the
  /// numbers from before_start[i] to before_start[i + 1]. Whatever lies within a set leads to it
  /// this way.
  std::vector<std::uint32_t> before, before_start;

  std::size_t size() const { return compute.size(); }
  const std::uint64_t* set(std::size_t i) const { return sets.data() + i * words; }
  bool within(std::size_t small, std::size_t large) const {
    for (std::size_t w = 0; w < words; ++w) {
      if ((set(small)[w] & ~set(large)[w]) != 0) return false;
    }
    return true;
  }
};

/// Those that hold the first source and are reached from it by adding a layer that reads one of the
/// set, with all that it needs; the last is the whole. More than `most` is an Error (kInfeasible).
Result<Ideals> all_ideals(const Profile& profile, std::size_t most);

}  // namespace weft::pipeline
