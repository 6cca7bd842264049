// SPDX-License-Identifier: Apache-2.0
// Box algebra: intervals, sets of them along one dimension, and boxes of an array. Everything
// counts elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/reshard/short_list.h"

namespace weft::reshard {

/// Half open: low is in, high is not. Empty where high <= low.
struct Interval {
  std::int64_t low = 0, high = 0;

  std::int64_t length() const { return std::max<std::int64_t>(0, high - low); }
  bool empty() const { return high <= low; }
  bool operator==(const Interval&) const = default;
};

/// One interval a dimension of the array; a scalar has the box without dimensions, of volume 1.
using Box = ShortList<Interval, 4>;
/// A part of one dimension: sorted intervals that neither touch nor overlap, none of them empty.
using Strips = ShortList<Interval, 1>;

inline Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

std::int64_t volume(const Box& box);
std::int64_t length(const Strips& strips);

/// Sorted and joined, without empty ones.
Strips strips_of(Strips intervals);
Strips intersect(const Strips& a, const Strips& b);
/// length(intersect(a, b)), without making it.
std::int64_t common_length(const Strips& a, const Strips& b);
/// Whether every element of `part` is in `whole`.
bool covers(const Strips& whole, const Strips& part);

/// Every box of the product of `dims`, in row-major order.
void for_each_box(const std::vector<Strips>& dims, const std::function<void(const Box&)>& take);

}  // namespace weft::reshard
