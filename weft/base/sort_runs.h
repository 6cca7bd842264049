// SPDX-License-Identifier: Apache-2.0
// Sorts lists that are nearly in order. A recording, for example, lists its events kind by kind,
// and the events of each kind by time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace weft {

/// Sorts like std::sort, but takes linear time if the list consists of at most 8 ascending runs.
/// Equal items may change their order. If this matters, use a comparison that never finds two items
/// equal.
template <class T, class Less = std::less<>>
void sort_runs(std::vector<T>& items, Less less = {}) {
  constexpr std::size_t kFewRuns = 8;
  std::vector<typename std::vector<T>::iterator> ends;
  for (auto at = items.begin(); at != items.end();) {
    at = std::is_sorted_until(at, items.end(), less);
    ends.push_back(at);
    if (ends.size() > kFewRuns) {
      std::sort(items.begin(), items.end(), less);
      return;
    }
  }
  for (std::size_t i = 1; i < ends.size(); ++i) {
    std::inplace_merge(items.begin(), ends[i - 1], ends[i], less);
  }
}

}  // namespace weft
