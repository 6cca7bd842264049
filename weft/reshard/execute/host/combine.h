// SPDX-License-Identifier: Apache-2.0
// Elements in the host's memory: reduced, filled in, divided.
#pragma once

#include <array>

#include "weft/reshard/execute/host/strided_copy.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Reduces `count` rows at `from`, of `bytes` bytes each, into those at `to`.
using CombineRows = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to,
                             std::int64_t to_step, std::int64_t bytes, std::int64_t count);

/// An Error (kUsage) if elements of that type cannot be reduced that way: 8-bit floats, the minimum
/// of complex numbers, an average of booleans. An average is reduced as a sum; scale() divides it
/// at the end.
Result<CombineRows> combine_rows(const Elements& elements);

/// What to do with rows on their way from one place to another.
struct RowWork {
  CombineRows rows = nullptr;  ///< nullptr: they are copied
  /// If rows are cast: bytes of an element at the source over bytes at the destination.
  std::int64_t width_ratio = 1;
};
/// Does what copy.run() would do, but with this work for each row. Bytes and strides of `copy` are
/// those of the destination; at the source they are `width_ratio` times as large.
void run(const StridedCopy& copy, const std::byte* from, std::byte* to, const RowWork& work);

/// The element that changes nothing when it is reduced into another one, in the first bytes.
using Pattern = std::array<std::byte, 16>;
Result<Pattern> neutral_element(const Elements& elements);

/// Fills a region of the buffer at `buffer`.
void fill(const Region& region, const Pattern& pattern, std::byte* buffer);

/// Multiplies `bytes` bytes of elements by elements.times / elements.over.
Status scale(const Elements& elements, std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
