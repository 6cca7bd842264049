// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/packed/integers.h"

#include <algorithm>
#include <bit>

namespace weft::trace::packed {
namespace {

// Differences wrap around, so that addresses and other full 64-bit values come back as well.
std::uint64_t fold(std::uint64_t miss) {
  return (miss << 1) ^ (0 - (miss >> 63));  // small negative numbers become small too
}
std::uint64_t unfold(std::uint64_t folded) { return (folded >> 1) ^ (0 - (folded & 1)); }

std::size_t table_size(std::span<const std::uint32_t> keys) {
  return keys.empty() ? 0 : std::size_t{*std::max_element(keys.begin(), keys.end())} + 1;
}

std::vector<std::uint64_t> misses(std::span<const std::int64_t> values,
                                  std::span<const std::uint32_t> keys, Guess guess) {
  std::vector<std::uint64_t> out(values.size());
  std::vector<std::uint64_t> last(guess == Guess::kLastSameKey ? table_size(keys) : 1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(values[i]);
    std::uint64_t& from = last[guess == Guess::kLastSameKey ? keys[i] : 0];
    out[i] = fold(value - from);
    if (guess != Guess::kZero) from = value;
  }
  return out;
}

void append_planes(std::string& out, const std::vector<std::uint64_t>& numbers) {
  std::uint64_t all = 0;
  for (const std::uint64_t number : numbers) all |= number;
  const auto width = static_cast<std::size_t>(std::bit_width(all) + 7) / 8;
  for (std::size_t plane = 0; plane < width; ++plane) {
    for (const std::uint64_t number : numbers)
      out.push_back(static_cast<char>(number >> 8 * plane));
  }
}

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
    if (i == 9 && byte > 1) return false;
    value |= (byte & 0x7f) << 7 * i;
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

std::string encode(std::span<const std::int64_t> values, std::span<const std::uint32_t> keys,
                   Guess guess, Layout layout) {
  const std::vector<std::uint64_t> numbers = misses(values, keys, guess);
  std::string out;
  out.push_back(static_cast<char>(guess));
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
  const auto guess = static_cast<std::uint8_t>(bytes[0]);
  const auto layout = static_cast<std::uint8_t>(bytes[1]);
  if (guess >= kGuesses || layout >= kLayouts) return false;
  if (!take_numbers(bytes.substr(2), static_cast<Layout>(layout), values)) return false;
  if (guess == static_cast<std::uint8_t>(Guess::kLastSameKey)) {
    const std::size_t size = table_size(keys);
    if (keys.size() != values.size() || size > kLargestKey) return false;
    std::vector<std::uint64_t> last(size, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      last[keys[i]] += unfold(static_cast<std::uint64_t>(values[i]));
      values[i] = static_cast<std::int64_t>(last[keys[i]]);
    }
    return true;
  }
  const bool add = guess == static_cast<std::uint8_t>(Guess::kLast);
  std::uint64_t last = 0;
  for (std::int64_t& value : values) {
    const std::uint64_t miss = unfold(static_cast<std::uint64_t>(value));
    last = add ? last + miss : miss;
    value = static_cast<std::int64_t>(last);
  }
  return true;
}

}  // namespace weft::trace::packed
