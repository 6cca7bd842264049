// SPDX-License-Identifier: Apache-2.0
// Converts elements from one type to another, in the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/result.h"
#include "weft/reshard/execute/host/combine.h"

namespace weft::reshard::execute {

/// Converts `count` contiguous elements. They are read and written in order, so `from` may lie
/// further behind in the same memory, as long as no element is overwritten before it is read.
using Convert = void (*)(const std::byte* from, std::byte* to, std::int64_t count);

/// Rounds to the nearest number of the other type, ties to even. To an integer, floats are
/// truncated; values outside its range become its smallest or largest number, and NaN becomes 0.
/// Integers to integers keep their low bits. Booleans are 0 and 1. An Error (kUsage) for unknown
/// types, and if an imaginary part would be lost.
Result<Convert> conversion(std::string_view from, std::string_view to);
/// The same for rows. Their bytes are counted in the type of the destination.
Result<CombineRows> conversion_rows(std::string_view from, std::string_view to);

}  // namespace weft::reshard::execute
