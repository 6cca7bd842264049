// SPDX-License-Identifier: Apache-2.0
// Finds the layers of a model by repetition: a chain of equal layers launches the same sequence of
// kernels again and again. Whatever comes before and after the repetition (embeddings, a head) does
// not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/interner.h"

namespace weft::pipeline::recorded {

/// names[begin, begin + period * count) consists of `count` copies of the same `period` names.
struct Repeat {
  std::size_t begin = 0, period = 0, count = 0;
  bool operator==(const Repeat&) const = default;
};

/// The repetition that covers the most names, with at least two copies. Ties go to the shortest
/// period, then to the first position. nullopt if nothing repeats. Takes time O(n^2) for n names.
std::optional<Repeat> longest_repeat(std::span<const NameId> names);

/// `parts` are the kernels that each stage launches for one micro-batch, in the order in which the
/// micro-batch passes the stages. Returns, for each part, the positions at which its layers begin;
/// the first is always 0. Kernels before the first layer belong to the first layer. Kernels after
/// the last layer belong to the last layer. nullopt if nothing repeats or if a stage begins in the
/// middle of a layer.
std::optional<std::vector<std::vector<std::size_t>>> layer_starts(
    const std::vector<std::vector<NameId>>& parts);

}  // namespace weft::pipeline::recorded
