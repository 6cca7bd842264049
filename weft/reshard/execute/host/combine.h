// SPDX-License-Identifier: Apache-2.0
// Elements in memory of the host: added up, filled in, divided.
#pragma once

#include <array>

#include "weft/reshard/execute/host/strided_copy.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Reduces rows at `from` into those at `to`, `count` of `bytes` bytes each.
using CombineRows = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to,
                             std::int64_t to_step, std::int64_t bytes, std::int64_t count);

/// An Error (kUsage) where elements of that type cannot be reduced that way: numbers of 8 bits with
/// a point, the smaller of two complex numbers, an average of truths. An average is added up here,
/// and divided in the end.
Result<CombineRows> combine_rows(const Elements& elements);

/// What happens to rows that go from one place to another.
struct RowWork {
  CombineRows rows = nullptr;  ///< nullptr: they are copied
  /// Of rows that are cast: bytes of an element where it comes from, over those where it goes.
  std::int64_t widths = 1;
};
/// What copy.run() would do, with that work instead. Bytes and strides are those of where it goes;
/// where it comes from everything is `widths` times as far away.
void run(const StridedCopy& copy, const std::byte* from, std::byte* to, const RowWork& work);

/// The element that changes nothing when it is reduced into another, in the first bytes.
using Pattern = std::array<std::byte, 16>;
Result<Pattern> neutral_element(const Elements& elements);

/// Fills a region of a buffer that begins at `buffer`.
void fill(const Region& region, const Pattern& pattern, std::byte* buffer);

/// Multiplies `bytes` bytes of elements by elements.times / elements.over.
Status scale(const Elements& elements, std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
