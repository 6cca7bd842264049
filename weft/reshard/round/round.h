// SPDX-License-Identifier: Apache-2.0
// Stores the transfers of one round. If thousands of devices each send to all other devices, there
// are millions of transfers. So transfers are stored in flat arrays instead of one object per
// transfer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include "weft/base/check.h"
#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

/// A box that one device sends to another. All transfers of a round send what their senders held
/// before the round. A receiver first stores the boxes that replace its data. Then it adds the
/// boxes with `add`.
struct Transfer {
  Device from = 0, to = 0;
  Box box;           ///< in coordinates of the whole array
  bool add = false;  ///< the receiver adds (reduces) the box to its data instead of storing it

  bool operator==(const Transfer&) const = default;
};

/// A list of transfers whose boxes have the same number of dimensions.
class Round {
 public:
  /// A transfer without its box.
  struct Ends {
    Device from, to;
    bool add;
  };

  Round() = default;
  Round(std::initializer_list<Transfer> list) {
    for (const Transfer& transfer : list) push_back(transfer);
  }

  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  void reserve(std::size_t count, std::size_t rank) {
    ends_.reserve(count);
    sides_.reserve(count * rank);
  }
  void push_back(const Transfer& transfer) {
    push_back(transfer.from, transfer.to, {transfer.box.begin(), transfer.box.end()}, transfer.add);
  }
  void push_back(Device from, Device to, std::span<const Interval> box, bool add) {
    WEFT_CHECK(empty() || box.size() == rank_);
    rank_ = box.size();
    ends_.push_back({from, to, add});
    sides_.insert(sides_.end(), box.begin(), box.end());
  }

  const Ends& ends(std::size_t i) const { return ends_[i]; }
  std::span<const Interval> box(std::size_t i) const { return {sides_.data() + i * rank_, rank_}; }
  Transfer operator[](std::size_t i) const {
    const std::span<const Interval> sides = box(i);
    return {ends_[i].from, ends_[i].to, Box(sides.begin(), sides.end()), ends_[i].add};
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Transfer;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Transfer;

    Iterator(const Round* round, std::size_t at) : round_(round), at_(at) {}
    Transfer operator*() const { return (*round_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Round* round_;
    std::size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  std::size_t rank_ = 0;
  std::vector<Ends> ends_;
  std::vector<Interval> sides_;  ///< sides of all boxes, concatenated
};

}  // namespace weft::reshard
