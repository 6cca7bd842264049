// SPDX-License-Identifier: Apache-2.0
// Divides an array into cells at every edge of every given box (coordinate compression). Each cell
// is then entirely inside or entirely outside of each box. So all elements of a cell have the same
// history, and one check per cell is enough.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/reshard/layout/box.h"
#include "weft/reshard/round/round.h"

namespace weft::reshard {

/// A set of positions along one dimension, numbered in increasing order.
class Edges {
 public:
  void add(std::int64_t position);
  /// Numbers the positions. add() must not be called afterwards.
  void assign_numbers();
  /// The number of a position that was added.
  std::uint32_t index(std::int64_t position) const { return number_[find(position)]; }
  std::size_t size() const { return count_; }

 private:
  std::size_t find(std::int64_t position) const;
  void grow();

  std::vector<std::int64_t> table_;  ///< hash table of positions, with linear probing
  /// For each place in table_: the number of the position that is stored there.
  std::vector<std::uint32_t> number_;
  std::size_t count_ = 0;
};

/// The edges of all boxes divide the array into cells. This class lists, for each cell, the boxes
/// that cover it; each of them is called an event of the cell. Boxes come in several lists, called
/// stages. Time and memory are linear in the number of (box, cell) pairs.
class CellEvents {
 public:
  CellEvents(std::size_t rank, std::span<const Round* const> stages);

  std::size_t cells() const { return first_.size() - 1; }
  /// The numbers of the events of one cell, in order. The boxes of all stages are numbered one
  /// after the other: the number of box i of stage s is i plus the number of boxes in all earlier
  /// stages.
  std::span<const std::uint32_t> of(std::size_t cell) const {
    return {events_.data() + first_[cell], events_.data() + first_[cell + 1]};
  }

 private:
  /// Calls take(cell) for every cell of a box.
  template <class Take>
  void for_each_cell(std::span<const Interval> box, const Take& take) const;

  std::vector<Edges> edges_;          ///< one per dimension
  std::vector<std::uint64_t> first_;  ///< indexed by cell: where its events begin in events_
  std::vector<std::uint32_t> events_;
};

}  // namespace weft::reshard
