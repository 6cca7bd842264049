// SPDX-License-Identifier: Apache-2.0
// encode() goes through three stages: difference from the prediction, zigzag code, layout. decode()
// undoes them in reverse order. Bytes from a file are not trusted, so decode() checks every length.
#include "weft/trace/formats/packed/integers.h"

#include <algorithm>
#include <bit>

namespace weft::trace::packed {
namespace {

// Differences are computed modulo 2^64, so that addresses and other full 64-bit values survive the
// round trip. The zigzag code maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ...: small negative differences
// become small numbers too.
std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
std::uint64_t undo_zigzag(std::uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

// Number of entries that a table over all keys needs.
std::size_t table_size(std::span<const std::uint32_t> keys) {
  return keys.empty() ? 0 : std::size_t{*std::max_element(keys.begin(), keys.end())} + 1;
}

std::vector<std::uint64_t> differences(std::span<const std::int64_t> values,
                                       std::span<const std::uint32_t> keys, Prediction prediction) {
  const bool by_key = prediction == Prediction::kPreviousSameKey;
  std::vector<std::uint64_t> out(values.size());
  // The last value of each key. Predictions without key use one entry; for kZero it stays 0.
  std::vector<std::uint64_t> last(by_key ? table_size(keys) : 1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(values[i]);
    std::uint64_t& predicted = last[by_key ? keys[i] : 0];
    out[i] = zigzag(value - predicted);
    if (prediction != Prediction::kZero) predicted = value;
  }
  return out;
}

// Appends as many byte planes as the largest number has bytes.
void append_planes(std::string& out, const std::vector<std::uint64_t>& numbers) {
  std::uint64_t all = 0;
  for (const std::uint64_t number : numbers) all |= number;
  const auto width = static_cast<std::size_t>(std::bit_width(all) + 7) / 8;
  for (std::size_t plane = 0; plane < width; ++plane) {
    for (const std::uint64_t number : numbers)
      out.push_back(static_cast<char>(number >> 8 * plane));
  }
}

// Undoes the layout only: `out` holds zigzag codes afterwards.
bool take_numbers(std::string_view bytes, Layout layout, std::span<std::int64_t> out) {
  if (layout == Layout::kVarint) {
    for (std::int64_t& value : out) {
      std::uint64_t number = 0;
      if (!take_varint(bytes, number)) return false;
      value = static_cast<std::int64_t>(number);
    }
    return bytes.empty();
  }
  if (out.empty()) return bytes.empty();
  // The width of the planes is not stored; it follows from the length.
  const std::size_t width = bytes.size() / out.size();
  if (width > 8 || bytes.size() % out.size() != 0) return false;
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t plane = 0; plane < width; ++plane) {
    const char* from = bytes.data() + plane * out.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t byte = static_cast<unsigned char>(from[i]);
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) | byte << 8 * plane);
    }
  }
  return true;
}

}  // namespace

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
    if (i == 9 && byte > 1) return false;  // nine bytes hold 63 bits, so one bit is left
    value |= (byte & 0x7f) << 7 * i;
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

std::string encode(std::span<const std::int64_t> values, std::span<const std::uint32_t> keys,
                   Prediction prediction, Layout layout) {
  const std::vector<std::uint64_t> numbers = differences(values, keys, prediction);
  std::string out;
  out.push_back(static_cast<char>(prediction));
  out.push_back(static_cast<char>(layout));
  if (layout == Layout::kBytePlanes) {
    append_planes(out, numbers);
  } else {
    for (const std::uint64_t number : numbers) append_varint(out, number);
  }
  return out;
}

bool decode(std::string_view bytes, std::span<const std::uint32_t> keys,
            std::span<std::int64_t> values) {
  if (bytes.size() < 2) return false;
  const auto prediction = static_cast<std::uint8_t>(bytes[0]);
  const auto layout = static_cast<std::uint8_t>(bytes[1]);
  if (prediction >= kPredictions || layout >= kLayouts) return false;
  if (!take_numbers(bytes.substr(2), static_cast<Layout>(layout), values)) return false;
  if (prediction == static_cast<std::uint8_t>(Prediction::kPreviousSameKey)) {
    const std::size_t size = table_size(keys);
    if (keys.size() != values.size() || size > kLargestKey) return false;
    std::vector<std::uint64_t> last(size, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      last[keys[i]] += undo_zigzag(static_cast<std::uint64_t>(values[i]));
      values[i] = static_cast<std::int64_t>(last[keys[i]]);
    }
    return true;
  }
  const bool add = prediction == static_cast<std::uint8_t>(Prediction::kPrevious);
  std::uint64_t last = 0;
  for (std::int64_t& value : values) {
    const std::uint64_t difference = undo_zigzag(static_cast<std::uint64_t>(value));
    last = add ? last + difference : difference;
    value = static_cast<std::int64_t>(last);
  }
  return true;
}

}  // namespace weft::trace::packed
