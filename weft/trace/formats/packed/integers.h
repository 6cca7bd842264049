// SPDX-License-Identifier: Apache-2.0
// Encodes a column of integers in few bytes. Each value is predicted, and only the difference from
// the prediction is stored. The differences are laid out so that a general compressor (zstd), which
// runs after this, finds repetitions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::trace::packed {

/// How a value is predicted. The numbers are part of the format.
enum class Prediction : std::uint8_t {
  kZero,             ///< 0, so the value itself is stored
  kPrevious,         ///< the value of the previous row
  kPreviousSameKey,  ///< the value of the last row with the same key, for example the same lane
};
constexpr std::uint8_t kPredictions = 3;

/// How the differences are laid out. The numbers are part of the format.
enum class Layout : std::uint8_t {
  kVarint,      ///< seven bits per byte, the low ones first
  kBytePlanes,  ///< the lowest byte of all values, then the second byte of all values, ...
};
constexpr std::uint8_t kLayouts = 2;

/// Prediction by key needs a table as long as the largest key. Columns with larger keys than this
/// do not use it, and decode() refuses them.
constexpr std::uint32_t kLargestKey = 1u << 20;

/// Returns two bytes that name prediction and layout, then the differences. `keys` has one entry
/// per value; it may be empty unless the prediction is kPreviousSameKey. Takes linear time.
std::string encode(std::span<const std::int64_t> values, std::span<const std::uint32_t> keys,
                   Prediction prediction, Layout layout);

/// Fills `values` from the bytes that encode() wrote with the same keys. Returns false if `bytes`
/// is not such an encoding of `values.size()` values. Takes linear time.
bool decode(std::string_view bytes, std::span<const std::uint32_t> keys,
            std::span<std::int64_t> values);

/// Appends an unsigned number with seven bits per byte. Lengths and counts in a packed file are
/// written like this too.
void append_varint(std::string& out, std::uint64_t value);
/// Removes one number from the front of `bytes`. Returns false if the bytes end inside the number
/// or the number has more than 64 bits.
bool take_varint(std::string_view& bytes, std::uint64_t& value);

}  // namespace weft::trace::packed
