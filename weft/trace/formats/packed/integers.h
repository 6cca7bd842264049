// SPDX-License-Identifier: Apache-2.0
// A column of whole numbers as few bytes: what a simple guess misses, laid out so that a general
// packer behind it finds the repeats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::trace::packed {

/// What a value is counted from.
enum class Guess : std::uint8_t {
  kZero,         ///< itself
  kLast,         ///< the value before it
  kLastSameKey,  ///< the value of the last row with the same key, for instance the same lane
};
constexpr std::uint8_t kGuesses = 3;

enum class Layout : std::uint8_t {
  kVarint,      ///< seven bits a byte, the low ones first
  kBytePlanes,  ///< the lowest byte of all values, then the next one of all
};
constexpr std::uint8_t kLayouts = 2;

/// Keys beyond this are not worth a table.
constexpr std::uint32_t kLargestKey = 1u << 20;

/// Two bytes that name guess and layout, then the misses. `keys`: one a value, or empty.
std::string encode(std::span<const std::int64_t> values, std::span<const std::uint32_t> keys,
                   Guess guess, Layout layout);

/// False if `bytes` is not what encode() wrote for `values.size()` values with these keys.
bool decode(std::string_view bytes, std::span<const std::uint32_t> keys,
            std::span<std::int64_t> values);

/// Unsigned, seven bits a byte; lengths and counts are written like this too.
void append_varint(std::string& out, std::uint64_t value);
/// Takes one from the front of `bytes`; false if they end or hold more than 64 bits.
bool take_varint(std::string_view& bytes, std::uint64_t& value);

}  // namespace weft::trace::packed
