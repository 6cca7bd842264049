// SPDX-License-Identifier: Apache-2.0
// Elements of one type made into those of another, in memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/result.h"
#include "weft/reshard/execute/host/combine.h"

namespace weft::reshard::execute {

/// `count` elements, one behind the other on both sides. Elements are taken and put in order, so
/// `from` may lie further behind in the same memory, as long as no element is overwritten before it
/// is taken.
using Convert = void (*)(const std::byte* from, std::byte* to, std::int64_t count);

/// To the nearest number of the other type, the even one of two. Where that has no fractions they
/// are cut off, what it cannot hold becomes its largest or smallest number, and what is none
/// becomes 0; integers among each other keep their low bits. Truths are 0 and 1.
/// An Error (kUsage) for types that cannot be computed with, and where an imaginary part would be
/// lost.
Result<Convert> conversion(std::string_view from, std::string_view to);
/// The same for rows, whose bytes are counted where they go.
Result<CombineRows> conversion_rows(std::string_view from, std::string_view to);

}  // namespace weft::reshard::execute
