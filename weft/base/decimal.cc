// SPDX-License-Identifier: Apache-2.0
// Converts decimal text by working on its digits. Scaling by a power of ten only moves the point,
// so no floating-point number is needed and the result is exact for any number of digits.
#include "weft/base/decimal.h"

#include <charconv>
#include <limits>

namespace weft {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads the exponent after 'e'. Stops adding digits once the exponent exceeds 10000. This changes
// no result, because with such an exponent the number is too large or rounds to 0 in any case.
std::optional<int> parse_exponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    if (value < 10000) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

}  // namespace

std::optional<std::int64_t> parse_scaled(std::string_view text, int digits) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  const std::size_t e = text.find_first_of("eE");
  int exponent = 0;
  if (e != std::string_view::npos) {
    const auto parsed = parse_exponent(text.substr(e + 1));
    if (!parsed) return std::nullopt;
    exponent = *parsed;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  // The number of mantissa digits that are left of the point after scaling. These digits form the
  // result. The digit after them decides about rounding. Digits that the text does not have are
  // zeros.
  const std::int64_t wanted = static_cast<std::int64_t>(point) + exponent + digits;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  std::int64_t taken = 0;
  bool round_up = false;
  // Check all digits, also those after the rounding digit, because the whole text must be a number.
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (!is_digit(text[i])) return std::nullopt;
    const int digit = text[i] - '0';
    if (taken < wanted) {
      if (value > (kMax - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    } else if (taken == wanted) {
      round_up = digit >= 5;
    }
    ++taken;
  }
  if (taken == 0) return std::nullopt;
  if (value == 0 && !round_up) return 0;
  for (; taken < wanted; ++taken) {
    if (value > kMax / 10) return std::nullopt;
    value *= 10;
  }
  if (round_up) {
    if (value == kMax) return std::nullopt;
    ++value;
  }
  return negative ? -value : value;
}

// from_chars() is used because it does not depend on the locale. It does not accept a leading '+',
// which is removed first.
std::optional<double> parse_double(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace weft
