// SPDX-License-Identifier: Apache-2.0
// Stores which groups of summands of a cell each device (or team) has, as a set of group numbers.
// Most of these sets are one group, all groups, or neighbouring groups. Such a set is stored as a
// run of numbers. Any other set is stored as bits until it contains all groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::reshard {

/// For each holder (a device or a team), a set of groups of summands. All sets are for one cell at
/// a time. Groups have numbers below `groups`.
class SummandSets {
 public:
  SummandSets(std::size_t holders, std::size_t groups)
      : groups_(static_cast<std::uint32_t>(groups)),
        words_((groups + 63) / 64),
        sets_(holders),
        bits_(groups > 1 ? holders * words_ : 0) {}

  /// Makes all sets empty, without writing to them: each set remembers its cell, and a set of
  /// another cell counts as empty.
  void start(std::size_t cell) { cell_ = cell; }

  bool empty(std::size_t holder) { return of(holder).count == 0; }
  bool all(std::size_t holder) { return of(holder).count == groups_; }

  /// A copy of a set, which later changes do not affect. Valid until clear_snapshots().
  struct Snapshot {
    std::uint32_t low = 0, count = 0;
    bool run = true;
    std::size_t words = 0;  ///< where its bits begin in snapshot_bits_, if it is not a run
  };
  Snapshot snapshot(std::size_t holder) {
    const Set& set = of(holder);
    Snapshot snapshot{set.low, set.count, set.run, snapshot_bits_.size()};
    if (!set.run) {
      const std::uint64_t* bits = &bits_[holder * words_];
      snapshot_bits_.insert(snapshot_bits_.end(), bits, bits + words_);
    }
    return snapshot;
  }
  static Snapshot single(std::size_t group) {
    return {static_cast<std::uint32_t>(group), 1, true, 0};
  }
  void clear_snapshots() { snapshot_bits_.clear(); }

  void replace(std::size_t holder, const Snapshot& by) { replace(holder, by, bits_of(by)); }

  /// Adds a set to the set of a holder. Returns false if the two sets have a group in common.
  bool add(std::size_t holder, const Snapshot& more) { return add(holder, more, bits_of(more)); }
  bool add(std::size_t holder, SummandSets& others, std::size_t whose) {
    const Set& set = others.of(whose);
    const std::uint64_t* bits = set.run ? nullptr : &others.bits_[whose * words_];
    return add(holder, {set.low, set.count, set.run, 0}, bits);
  }

 private:
  struct Set {
    std::size_t cell = ~std::size_t{0};  ///< the cell that the set belongs to
    std::uint32_t low = 0, count = 0;
    bool run = true;
  };

  Set& of(std::size_t holder) {
    Set& set = sets_[holder];
    if (set.cell != cell_) {
      set.cell = cell_;
      set.count = 0;
      set.run = true;
    }
    return set;
  }
  const std::uint64_t* bits_of(const Snapshot& snapshot) const {
    return snapshot.run ? nullptr : &snapshot_bits_[snapshot.words];
  }

  void replace(std::size_t holder, const Snapshot& by, const std::uint64_t* by_bits) {
    Set& set = of(holder);
    set.low = by.low;
    set.count = by.count;
    set.run = by.run;
    for (std::size_t i = 0; !by.run && i < words_; ++i) bits_[holder * words_ + i] = by_bits[i];
  }

  bool add(std::size_t holder, const Snapshot& more, const std::uint64_t* more_bits) {
    Set& set = of(holder);
    if (more.count == 0) return true;
    if (set.count == 0) {
      replace(holder, more, more_bits);
      return true;
    }
    if (set.run && more.run) {
      if (more.low < set.low + set.count && set.low < more.low + more.count) return false;
      const bool before = more.low + more.count == set.low;
      if (before || set.low + set.count == more.low) {
        if (before) set.low = more.low;
        set.count += more.count;
        return true;
      }
    }
    std::uint64_t* bits = &bits_[holder * words_];
    if (set.run) {
      std::fill_n(bits, words_, 0);
      put(bits, set.low, set.count);
      set.run = false;
    }
    const bool apart = more.run ? put(bits, more.low, more.count) : put(bits, more_bits);
    if (!apart) return false;
    set.count += more.count;
    if (set.count == groups_) {
      set.low = 0;
      set.run = true;
    }
    return true;
  }

  /// Both functions set bits. They return false if one of these bits is already set.
  bool put(std::uint64_t* bits, std::uint32_t low, std::uint32_t count) const {
    for (std::uint32_t end = low + count; low < end;) {
      const std::uint32_t in_word = std::min(end - low, 64 - low % 64);
      const std::uint64_t mask = (~std::uint64_t{0} >> (64 - in_word)) << (low % 64);
      if ((bits[low / 64] & mask) != 0) return false;
      bits[low / 64] |= mask;
      low += in_word;
    }
    return true;
  }
  bool put(std::uint64_t* bits, const std::uint64_t* more) const {
    for (std::size_t i = 0; i < words_; ++i) {
      if ((bits[i] & more[i]) != 0) return false;
      bits[i] |= more[i];
    }
    return true;
  }

  std::uint32_t groups_;
  std::size_t words_, cell_ = ~std::size_t{0} - 1;
  std::vector<Set> sets_;
  std::vector<std::uint64_t> bits_;  ///< indexed by holder, for sets that are not runs
  std::vector<std::uint64_t> snapshot_bits_;
};

}  // namespace weft::reshard
