// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/text_scan.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::graph {
namespace {

constexpr std::string_view kWordChars =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";

}  // namespace

/// Collects all digits in `value`, as if there were no decimal point. Each digit after the point
/// divides the unit by ten. So the function returns the exact time, or an error.
Result<Nanos> parse_time(std::string_view text) {
  if (text == "0") return 0;
  const auto wrong = [&text] {
    return bad_text(fmt::format("'{}' is not a time such as 12us, 1.5ms or 0", text));
  };
  const bool negative = text.starts_with('-');
  std::string_view rest = text.substr(negative ? 1 : 0);
  const std::size_t unit_at = rest.find_first_not_of("0123456789.");
  if (unit_at == 0 || unit_at == std::string_view::npos) return wrong();
  const std::string_view unit = rest.substr(unit_at);
  Nanos scale = 0;
  if (unit == "ns") scale = 1;
  if (unit == "us") scale = kMicrosecond;
  if (unit == "ms") scale = kMillisecond;
  if (unit == "s") scale = kSecond;
  if (scale == 0) return wrong();

  Nanos value = 0;
  bool after_point = false;
  for (const char c : rest.substr(0, unit_at)) {
    if (c == '.') {
      if (after_point) return wrong();
      after_point = true;
      continue;
    }
    if (after_point) {
      if (scale == 1) return wrong();  // finer than a nanosecond
      scale /= 10;
    }
    if (__builtin_mul_overflow(value, Nanos{10}, &value) ||
        __builtin_add_overflow(value, Nanos{c - '0'}, &value)) {
      return wrong();
    }
  }
  if (__builtin_mul_overflow(value, scale, &value)) return wrong();
  return negative ? -value : value;
}

bool Scanner::at_end() {
  skip_blanks();
  return rest_.empty() || rest_[0] == '#';
}

bool Scanner::accept(char c) {
  if (!next_is(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool Scanner::next_is(char c) {
  skip_blanks();
  return !rest_.empty() && rest_[0] == c;
}

void Scanner::skip_blanks() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
}

Result<std::string_view> Scanner::word(std::string_view what) {
  skip_blanks();
  const std::size_t length = std::min(rest_.find_first_not_of(kWordChars), rest_.size());
  if (length == 0) return bad_text(fmt::format("expected {} at '{}'", what, rest_.substr(0, 20)));
  const std::string_view found = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return found;
}

Result<std::string> Scanner::text(std::string_view what) {
  if (accept('"')) return quoted();
  WEFT_ASSIGN(const std::string_view found, word(what));
  return std::string(found);
}

Result<std::string> Scanner::quoted() {
  std::string out;
  while (!rest_.empty() && rest_[0] != '"') {
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '\\') {
      if (rest_.empty()) break;
      c = rest_[0];
      rest_.remove_prefix(1);
      if (c == 'x') {
        unsigned value = 0;
        const std::string_view digits = rest_.substr(0, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error != std::errc() || end != digits.data() + 2) {
          return bad_text("\\x must be followed by two hexadecimal digits");
        }
        c = static_cast<char>(value);
        rest_.remove_prefix(2);
      } else if (c != '"' && c != '\\') {
        return bad_text(fmt::format("unknown escape \\{}", c));
      }
    }
    out += c;
  }
  if (rest_.empty()) return bad_text("the closing quote is missing");
  rest_.remove_prefix(1);
  return out;
}

}  // namespace weft::graph
