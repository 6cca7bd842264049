// SPDX-License-Identifier: Apache-2.0
// The middle of many values, as robust estimates want it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

/// The value at `share` of the way through the sorted values (0 the least); 0 for none. Of an even
/// number the median is the upper of the two in the middle, so that it is one of the values.
/// Reorders `values`. Linear.
template <class T>
T quantile(std::vector<T>& values, double share) {
  if (values.empty()) return T{};
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(index, values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

template <class T>
T median(std::vector<T>& values) {
  return quantile(values, 0.5);
}
template <class T>
T median(std::vector<T>&& values) {
  return quantile(values, 0.5);
}
template <class T>
T median(const std::vector<T>& values) {
  return median(std::vector<T>(values));
}

}  // namespace weft
