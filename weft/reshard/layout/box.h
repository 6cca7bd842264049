// SPDX-License-Identifier: Apache-2.0
// Defines box algebra: intervals, sets of intervals along one dimension, and boxes of an array. All
// numbers count elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {

/// An interval contains `low` but not `high`. It is empty if high <= low.
struct Interval {
  std::int64_t low = 0, high = 0;

  std::int64_t length() const { return std::max<std::int64_t>(0, high - low); }
  bool empty() const { return high <= low; }
  bool operator==(const Interval&) const = default;
};

/// One interval per dimension of the array. The box of a scalar has no dimensions and volume 1.
using Box = ShortList<Interval, 4>;
/// A part of one dimension: sorted intervals, none of them empty, that do not touch or overlap.
using Strips = ShortList<Interval, 1>;

inline Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

std::int64_t volume(std::span<const Interval> box);
std::int64_t length(const Strips& strips);

/// Turns any intervals into strips: sorts them, joins intervals that touch or overlap, and drops
/// empty ones.
Strips strips_of(Strips intervals);
Strips intersect(const Strips& a, const Strips& b);
/// length(intersect(a, b)), without building the intersection.
std::int64_t common_length(const Strips& a, const Strips& b);
/// Whether every element of `part` is in `whole`.
bool covers(const Strips& whole, const Strips& part);

/// Calls take(box) for every box of the product of `dims`, in row-major order.
template <class Take>
void for_each_box(const std::vector<Strips>& dims, const Take& take) {
  ShortList<std::size_t, 4> at(dims.size());
  Box box(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].empty()) return;
    box[i] = dims[i].front();
  }
  for (;;) {
    take(box);
    std::size_t dim = dims.size();
    for (; dim > 0 && ++at[dim - 1] == dims[dim - 1].size(); --dim) {
      at[dim - 1] = 0;
      box[dim - 1] = dims[dim - 1].front();
    }
    if (dim == 0) return;
    box[dim - 1] = dims[dim - 1][at[dim - 1]];
  }
}

}  // namespace weft::reshard
