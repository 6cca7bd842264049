// SPDX-License-Identifier: Apache-2.0
#include "weft/base/suggest.h"

#include <algorithm>

namespace weft {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // at(i, j) is the distance between the first i letters of `a` and the first j letters of `b`.
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  // Up to a third of the letters may be wrong. Two wrong letters are always allowed, so that short
  // names get suggestions, too.
  std::size_t best_distance = std::max<std::size_t>(2, typed.size() / 3) + 1;
  std::string best;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(typed, candidate);
    // If the distance equals the length of the name, no letter agrees, so the name is not
    // suggested. Of names with equal distance, the first one is chosen.
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
  const std::string found = nearest(typed, known);
  return found.empty() ? "" : "; did you mean '" + found + "'?";
}

}  // namespace weft
