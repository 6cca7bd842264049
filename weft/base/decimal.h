// SPDX-License-Identifier: Apache-2.0
// Converts decimal text to integers exactly. Traces write times in microseconds with decimals. A
// double would lose the nanoseconds, because the microseconds of a date already need all of its 53
// bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// Returns `text` times 10^digits as an integer: ("12.3456", 3) -> 12346. A half is rounded away
/// from zero. The text may have a sign, a fraction and an exponent. Returns nullopt for any other
/// text, or if the result does not fit into 64 bits.
std::optional<std::int64_t> parse_scaled(std::string_view text, int digits);

/// Returns the same as parse_scaled(text, 3). This converts microseconds to nanoseconds. It is
/// called twice for every event of a trace, so it has a fast path for the usual form: digits, a
/// point, and up to three more digits.
inline std::optional<std::int64_t> parse_thousandths(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  std::uint64_t value = 0;
  const auto digit = [&] { return static_cast<unsigned char>(*p - '0'); };
  for (; p != end && digit() < 10; ++p) value = value * 10 + digit();
  const std::ptrdiff_t whole = p - text.data();
  // A date of this century, in microseconds, has 16 digits. 1000 times the value fits into 64 bits
  // if the value is below 9.2e15.
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

/// Reads any number ("7", "1e3", "7.4") and rounds it to an integer. Profilers write integers in
/// all these forms. Use parse_digits() where a fraction would be a mistake.
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

/// Reads a text that consists of digits only ("7"). Returns nullopt for any other text. Use it for
/// numbers that people write, where 7.4 is a mistake.
inline std::optional<std::int64_t> parse_digits(std::string_view text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? parse_int(text) : std::nullopt;
}

std::optional<double> parse_double(std::string_view text);

}  // namespace weft
