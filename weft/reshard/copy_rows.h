// SPDX-License-Identifier: Apache-2.0
// Rows of equal length, copied from one place to another at a time. Private to StridedCopy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::reshard {

/// `count` rows of `bytes` bytes; `from_step` and `to_step` lead from one row to the next.
using CopyRows = void (*)(const std::byte* from, std::int64_t from_step, std::byte* to,
                          std::int64_t to_step, std::int64_t bytes, std::int64_t count);

/// The fastest for rows of that length and distance, of which there are `all` bytes in the end. All
/// do the same.
CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all);

}  // namespace weft::reshard
