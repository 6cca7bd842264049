// SPDX-License-Identifier: Apache-2.0
// Quantiles and medians, for robust estimates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

/// Returns the `share`-quantile of the values: the smallest value for a share of 0, and 0 if there
/// are no values. The result is always one of the values. So the median of an even number of values
/// is the larger one of the two in the middle. Changes the order of `values`. Takes linear time.
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
