// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/layers.h"

namespace weft::pipeline::recorded {

std::optional<Repeat> longest_repeat(std::span<const NameId> names) {
  std::optional<Repeat> best;
  for (std::size_t period = 1; 2 * period <= names.size(); ++period) {
    // How many names in a row, up to here, equal the name one period later. A run of n such names
    // means n / period + 1 copies.
    std::size_t run = 0;
    for (std::size_t i = 0; i + period <= names.size(); ++i) {
      const bool equal = i + period < names.size() && names[i] == names[i + period];
      if (equal) {
        ++run;
        continue;
      }
      const std::size_t count = run / period + 1;
      if (count >= 2 && (!best || count * period > best->count * best->period)) {
        best = Repeat{i - run, period, count};
      }
      run = 0;
    }
  }
  return best;
}

std::optional<std::vector<std::vector<std::size_t>>> layer_starts(
    const std::vector<std::vector<NameId>>& parts) {
  std::vector<NameId> all;
  std::vector<std::size_t> part_begin;
  for (const auto& part : parts) {
    part_begin.push_back(all.size());
    all.insert(all.end(), part.begin(), part.end());
  }
  const std::optional<Repeat> repeat = longest_repeat(all);
  if (!repeat) return std::nullopt;
  // A repetition of "abc" also repeats "bca", so it may be found rotated. Every stage but the first
  // begins with a layer, so the start of the second stage shows the right rotation.
  const std::size_t period = repeat->period;
  std::size_t begin = repeat->begin;
  std::size_t end = begin + repeat->count * period;
  while (end < all.size() && all[end] == all[end - period]) ++end;
  if (parts.size() > 1) {
    const std::size_t second = part_begin[1];
    if (second < begin || second >= end) return std::nullopt;
    begin += (second - begin) % period;
  }
  std::vector<std::vector<std::size_t>> starts(parts.size());
  std::size_t layer = begin;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::size_t part_end = part_begin[p] + parts[p].size();
    for (; layer + period <= end && layer + period <= part_end; layer += period) {
      starts[p].push_back(layer - part_begin[p]);
    }
    if (starts[p].empty()) return std::nullopt;
    if (p > 0 && starts[p].front() != 0) return std::nullopt;
    starts[p].front() = 0;
    if (p + 1 < parts.size() && layer != part_end) return std::nullopt;
  }
  return starts;
}

}  // namespace weft::pipeline::recorded
