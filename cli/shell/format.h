// SPDX-License-Identifier: Apache-2.0
// Quantities as people read them: always with a unit, never with more digits than help.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::cli {

/// "596 kB", "2.4 MB": powers of 1000, as file managers and links count.
std::string format_bytes(Bytes bytes);
/// "64MiB", "100MB", "512"; at least 1. kUsage where it is none.
Result<Bytes> parse_size(std::string_view text);
/// "81.6": milliseconds without the unit, for columns that name it.
std::string format_ms(Nanos time);
/// "950 ns", "12.3 us", "81.57 ms", "2.21 s".
std::string format_time(Nanos time);
/// "21,344".
std::string format_count(std::int64_t count);
/// "0-3, 5, 7": sorted numbers, runs of them joined.
std::string format_numbers(const std::vector<std::int64_t>& sorted);
/// "rank 5" or "ranks 0-3, 5".
std::string name_ranks(const std::vector<std::int64_t>& sorted);

/// Breaks at spaces so that no line passes `width` characters (0: never breaks). Lines after the
/// first start with `indent` spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent);
/// The same as one text, each line ended.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace weft::cli
