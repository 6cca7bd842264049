// SPDX-License-Identifier: Apache-2.0
// Reduces, fills in and divides elements in the host's memory.
#pragma once

#include <array>

#include "weft/reshard/execute/host/strided_copy.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Reduces `count` rows of `bytes` bytes each: the row at `from` + i * `from_step` is reduced into
/// the row at `to` + i * `to_step`.
using CombineRows = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to,
                             std::int64_t to_step, std::int64_t bytes, std::int64_t count);

/// Returns the function that reduces these elements. Returns an Error (kUsage) if there is none:
/// for 8-bit floats, for the minimum or maximum of complex numbers, and for averages of booleans.
/// An average is reduced as a sum; scale() divides it at the end.
Result<CombineRows> combine_rows(const Elements& elements);

/// What a copy does with each row.
struct RowWork {
  CombineRows rows = nullptr;  ///< nullptr: the rows are copied unchanged
  /// If rows are cast: the bytes of an element at the source divided by its bytes at the
  /// destination. This is a whole number, because rows are never cast to a wider type, and the
  /// bytes of an element are always a power of two.
  std::int64_t width_ratio = 1;
};
/// Does the same as copy.run(), but with this work for each row. The bytes and strides of `copy`
/// are valid for the destination. At the source they are `width_ratio` times as large.
void run(const StridedCopy& copy, const std::byte* from, std::byte* to, const RowWork& work);

/// The element that changes nothing when it is reduced into another one. It is stored in the first
/// bytes of the pattern.
using Pattern = std::array<std::byte, 16>;
Result<Pattern> neutral_element(const Elements& elements);

/// Fills a region of the buffer that begins at `buffer` with copies of the pattern's element.
void fill(const Region& region, const Pattern& pattern, std::byte* buffer);

/// Multiplies `bytes` bytes of elements by elements.times / elements.over.
Status scale(const Elements& elements, std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
