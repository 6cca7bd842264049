// SPDX-License-Identifier: Apache-2.0
// Formats quantities for people: with a unit and few digits. Also breaks text into lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::cli {

/// "596 kB", "2.4 MB". Units are powers of 1000, as is usual for files and network rates.
std::string format_bytes(Bytes bytes);
/// Parses "64MiB", "100MB" or "512". Returns an Error (kUsage) unless the size is at least 1 byte
/// and at most 1 TiB.
Result<Bytes> parse_size(std::string_view text);
/// If a size has a unit with wrong capital letters, such as "1KB", says how the unit is written:
/// "write kB or KiB". Otherwise returns "". Weft does not guess, because KB may mean either.
std::string unit_hint(std::string_view text);
/// "81.6": milliseconds without unit, for table columns whose title has the unit.
std::string format_ms(Nanos time);
/// "950 ns", "12.3 us", "81.57 ms", "2.21 s".
std::string format_time(Nanos time);
/// "21,344".
std::string format_count(std::int64_t count);
/// Sorted numbers as text, with consecutive numbers joined: "0-3, 5, 7".
std::string format_numbers(const std::vector<std::int64_t>& sorted);
/// "rank 5" or "ranks 0-3, 5".
std::string name_ranks(const std::vector<std::int64_t>& sorted);

/// Breaks text at spaces into lines of at most `width` characters; a longer word gets a line of its
/// own. Width 0 means no limit. Lines after the first start with `indent` spaces.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent);
/// Like wrap(), but returns one string, in which each line ends with '\n'.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace weft::cli
