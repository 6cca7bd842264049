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

/// A plain integer, or a number that is one ("7", "7.0", "1e3").
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

std::optional<double> parse_double(std::string_view text);

}  // namespace weft
