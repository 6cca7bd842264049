// SPDX-License-Identifier: Apache-2.0
// A list of a few factors, stored in the object itself without heap memory, because a search
// creates and destroys thousands of lists.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "weft/base/check.h"

namespace weft::reshard {

/// Index into Factors::radix.
using Factor = std::uint8_t;

/// The part of std::vector<Factor> that types need.
class FactorList {
 public:
  /// A mesh has at most 2^20 devices and each factor at least two values, so a type uses at most 20
  /// factors.
  static constexpr std::size_t kCapacity = 23;
  using value_type = Factor;
  using iterator = Factor*;
  using const_iterator = const Factor*;

  FactorList() = default;
  FactorList(std::initializer_list<Factor> list) {
    for (const Factor factor : list) push_back(factor);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return list_.data(); }
  iterator end() { return list_.data() + size_; }
  const_iterator begin() const { return list_.data(); }
  const_iterator end() const { return list_.data() + size_; }
  Factor operator[](std::size_t i) const { return list_[i]; }
  Factor back() const { return list_[size_ - 1u]; }

  void push_back(Factor factor) { insert(end(), factor); }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void insert(iterator at, Factor factor) {
    WEFT_CHECK(size_ < kCapacity);
    std::copy_backward(at, end(), end() + 1);
    *at = factor;
    ++size_;
  }
  void append(const_iterator first, const_iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  /// Returns whether the factor was in the list.
  bool remove(Factor factor) {
    const iterator left = std::remove(begin(), end(), factor);
    const bool found = left != end();
    size_ = static_cast<std::uint8_t>(left - begin());
    return found;
  }
  bool has(Factor factor) const { return std::find(begin(), end(), factor) != end(); }
  bool begins_with(const FactorList& start) const {
    return size_ >= start.size_ && std::equal(start.begin(), start.end(), begin());
  }

  friend bool operator==(const FactorList& a, const FactorList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<Factor, kCapacity> list_;
  std::uint8_t size_ = 0;
};

}  // namespace weft::reshard
