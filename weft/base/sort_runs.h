// SPDX-License-Identifier: Apache-2.0
// Sorting what is nearly in order: recordings list their events kind by kind, each kind by time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace weft {

/// As std::sort, but linear for a few ascending runs one behind the other. Items that compare equal
/// keep their order only if there are few runs; order them fully where that matters.
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
