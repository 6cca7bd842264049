// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/box.h"

namespace weft::reshard {
namespace {

/// Calls take(interval) for every interval of the intersection, in order. Both lists are sorted, so
/// one pass over them is enough. Each iteration goes on to the next interval of the list whose
/// current interval ends first.
template <class Take>
void meet(const Strips& a, const Strips& b, const Take& take) {
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Interval both = intersect(a[i], b[k]);
    if (!both.empty()) take(both);
    (a[i].high < b[k].high ? i : k) += 1;
  }
}

}  // namespace

std::int64_t volume(std::span<const Interval> box) {
  std::int64_t product = 1;
  for (const Interval& side : box) product *= side.length();
  return product;
}

std::int64_t length(const Strips& strips) {
  std::int64_t sum = 0;
  for (const Interval& strip : strips) sum += strip.length();
  return sum;
}

Strips strips_of(Strips intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.low < b.low; });
  Strips strips;
  for (const Interval& interval : intervals) {
    if (interval.empty()) continue;
    if (!strips.empty() && interval.low <= strips.back().high) {
      strips.back().high = std::max(strips.back().high, interval.high);
    } else {
      strips.push_back(interval);
    }
  }
  return strips;
}

Strips intersect(const Strips& a, const Strips& b) {
  Strips both;
  meet(a, b, [&](const Interval& piece) { both.push_back(piece); });
  return both;
}

std::int64_t common_length(const Strips& a, const Strips& b) {
  if (a.size() == 1 && b.size() == 1) return intersect(a[0], b[0]).length();
  std::int64_t sum = 0;
  meet(a, b, [&](const Interval& piece) { sum += piece.length(); });
  return sum;
}

bool covers(const Strips& whole, const Strips& part) {
  return common_length(whole, part) == length(part);
}

}  // namespace weft::reshard
