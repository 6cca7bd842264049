// SPDX-License-Identifier: Apache-2.0
// Layers of a model by what repeats: a chain of equal layers launches the same kernels again and
// again, whatever stands before and behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/interner.h"

namespace weft::pipeline::recorded {

/// names[begin, begin + period * count) is `count` times the same `period` names.
struct Repeat {
  std::size_t begin = 0, period = 0, count = 0;
  bool operator==(const Repeat&) const = default;
};

/// The repeat that covers most, at least twice the same; of those the shortest period, then the
/// first. O(n^2).
std::optional<Repeat> longest_repeat(std::span<const NameId> names);

/// For each part (what one stage launches, in the order in which micro-batches pass) where its
/// layers begin, by position in the part; the first begins at 0. What comes before the first
/// repeated layer belongs to it, what comes behind the last to that. nullopt where the parts do not
/// begin with a layer, or nothing repeats.
std::optional<std::vector<std::vector<std::size_t>>> layer_starts(
    const std::vector<std::vector<NameId>>& parts);

}  // namespace weft::pipeline::recorded
