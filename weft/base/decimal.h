// SPDX-License-Identifier: Apache-2.0
// Decimal text to integers, exactly. Traces write microseconds with decimals; going through double
// would lose nanoseconds, because a date in microseconds already uses up its 53 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// `text` times 10^digits, rounded half away from zero: ("12.3456", 3) -> 12346. Takes sign,
/// fraction and exponent; anything else, and what does not fit, is nullopt.
std::optional<std::int64_t> parse_scaled(std::string_view text, int digits);

/// parse_scaled(text, 3), which every event needs twice: microseconds to nanoseconds.
inline std::optional<std::int64_t> parse_thousandths(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  std::uint64_t value = 0;
  const auto digit = [&] { return static_cast<unsigned char>(*p - '0'); };
  for (; p != end && digit() < 10; ++p) value = value * 10 + digit();
  const std::ptrdiff_t whole = p - text.data();
  // 16 digits, a date of this century, may overflow with three more only past 9.2e15.
  if (whole == 0 || whole > 16 || value >= 9'000'000'000'000'000) return parse_scaled(text, 3);
  int decimals = 0;
  if (p != end && *p == '.') {
    for (++p; p != end && decimals < 3 && digit() < 10; ++p, ++decimals)
      value = value * 10 + digit();
  }
  if (p != end) return parse_scaled(text, 3);
  for (; decimals < 3; ++decimals) value *= 10;
  return static_cast<std::int64_t>(value);
}

/// A plain integer, or a number rounded to one ("7", "1e3", "7.4"): profilers are not strict about
/// what they write. Where that would hide damage, the reader has to look at the text.
inline std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.empty() || text.size() > 18) return parse_scaled(text, 0);
  std::int64_t value = 0;
  for (const char c : text) {
    const unsigned digit = static_cast<unsigned>(c) - '0';
    if (digit > 9) return parse_scaled(text, 0);
    value = value * 10 + digit;
  }
  return value;
}

/// Digits and nothing else ("7"): for numbers that people write, where 7.4 is a mistake.
inline std::optional<std::int64_t> parse_digits(std::string_view text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? parse_int(text) : std::nullopt;
}

std::optional<double> parse_double(std::string_view text);

}  // namespace weft
