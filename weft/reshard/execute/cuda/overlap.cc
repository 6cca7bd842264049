// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/overlap.h"

#include <algorithm>
#include <functional>

namespace weft::reshard::execute::cuda {
namespace {

std::int64_t end_of(const Copy& copy) {
  std::int64_t end = copy.to + copy.element;
  for (const CopyLoop& loop : copy.loops) end += (loop.extent - 1) * loop.to;
  return end;
}

/// A box as intervals. An address is written as a number in mixed radix, whose place values are the
/// strides. The box has one interval of values for each digit.
struct Digits {
  std::vector<std::int64_t> low, high;
};

/// Computes the intervals. Returns false if a digit may become so large that it carries into the
/// next higher digit.
bool find_digits(const Copy& copy, const std::vector<std::int64_t>& strides, Digits& digits) {
  std::int64_t rest = copy.to;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    digits.low.push_back(rest / strides[i]);
    rest %= strides[i];
    std::int64_t extent = 1;
    for (const CopyLoop& loop : copy.loops) {
      if (loop.extent > 1 && loop.to == strides[i]) extent += loop.extent - 1;
    }
    digits.high.push_back(digits.low.back() + extent);
    if (i > 0 && digits.high.back() * strides[i] > strides[i - 1]) return false;
  }
  // The remaining offset is less than the smallest stride.
  digits.low.push_back(rest);
  digits.high.push_back(rest + copy.element);
  return strides.empty() || digits.high.back() <= strides.back();
}

}  // namespace

bool targets_may_overlap(const Copy& a, const Copy& b) {
  if (a.to_buffer != b.to_buffer || a.to >= end_of(b) || b.to >= end_of(a)) return false;
  std::vector<std::int64_t> strides;
  for (const Copy* copy : {&a, &b}) {
    for (const CopyLoop& loop : copy->loops) {
      if (loop.extent > 1) strides.push_back(loop.to);
    }
  }
  std::sort(strides.begin(), strides.end(), std::greater<>());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  if (!strides.empty() && strides.back() <= 0) return true;
  for (std::size_t i = 1; i < strides.size(); ++i) {
    if (strides[i - 1] % strides[i] != 0) return true;
  }
  Digits x, y;
  if (!find_digits(a, strides, x) || !find_digits(b, strides, y)) return true;
  for (std::size_t i = 0; i < x.low.size(); ++i) {
    if (x.low[i] >= y.high[i] || y.low[i] >= x.high[i]) return false;
  }
  return true;
}

}  // namespace weft::reshard::execute::cuda
