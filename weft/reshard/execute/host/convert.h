// SPDX-License-Identifier: Apache-2.0
// Converts elements from one type to another, in the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/result.h"
#include "weft/reshard/execute/host/combine.h"

namespace weft::reshard::execute {

/// Converts `count` contiguous elements. They are read and written in order. So `from` and `to` may
/// overlap if no element is overwritten before it is read.
using Convert = void (*)(const std::byte* from, std::byte* to, std::int64_t count);

/// Returns the function that converts elements of type `from` to type `to`. The rules are:
/// - A number is rounded to the nearest number of the other type; ties go to the even number.
/// - From float to integer, numbers are truncated. Values outside the integer's range become its
///   smallest or largest number, and NaN becomes 0.
/// - From integer to integer, the low bits are kept.
/// - Booleans are 0 and 1.
/// Returns an Error (kUsage) for unknown types, and if an imaginary part would be lost.
Result<Convert> conversion(std::string_view from, std::string_view to);
/// Like conversion(), but the function converts rows. The bytes of a row are counted in the type of
/// the destination.
Result<CombineRows> conversion_rows(std::string_view from, std::string_view to);

}  // namespace weft::reshard::execute
