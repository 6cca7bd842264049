// SPDX-License-Identifier: Apache-2.0
// An array divided at every edge of every box that matters, so that a cell is inside of a box or
// outside of it, and what happens to each cell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/reshard/layout/box.h"
#include "weft/reshard/round/round.h"

namespace weft::reshard {

/// Places along one dimension, numbered from low to high.
class Edges {
 public:
  void add(std::int64_t position);
  /// Numbers them. Nothing is added after that.
  void assign_numbers();
  /// Of a position that was added.
  std::uint32_t index(std::int64_t position) const { return number_[find(position)]; }
  std::size_t size() const { return count_; }

 private:
  std::size_t find(std::int64_t position) const;
  void grow();

  std::vector<std::int64_t> table_;    ///< positions by hash, the next free place where it is taken
  std::vector<std::uint32_t> number_;  ///< beside table_
  std::size_t count_ = 0;
};

/// What happens to each cell. Stages are lists of boxes: `stages[s]->box(i)` covers some cells, and
/// that is an event of each of them. Linear in what it lists.
class CellEvents {
 public:
  CellEvents(std::size_t rank, std::span<const Round* const> stages);

  std::size_t cells() const { return first_.size() - 1; }
  /// Of one cell, in order. Events are numbered through all stages.
  std::span<const std::uint32_t> of(std::size_t cell) const {
    return {events_.data() + first_[cell], events_.data() + first_[cell + 1]};
  }

 private:
  /// take(cell) for every cell of a box.
  template <class Take>
  void for_each_cell(std::span<const Interval> box, const Take& take) const;

  std::vector<Edges> edges_;          ///< one a dimension
  std::vector<std::uint64_t> first_;  ///< by cell, of its events
  std::vector<std::uint32_t> events_;
};

}  // namespace weft::reshard
