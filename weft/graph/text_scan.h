// SPDX-License-Identifier: Apache-2.0
// Reads the tokens of the text form: words, quoted text, numbers and times. Private to this room.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::graph {

inline tl::unexpected<Error> bad_text(std::string message) {
  return fail(ErrorCode::kBadInput, std::move(message));
}

template <class T>
Result<T> parse_integer(std::string_view text, std::string_view what) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_text(std::string(what) + " '" + std::string(text) +
                    "' is not a whole number in range");
  }
  return value;
}

/// Reads times such as "1.5us". The result is exact: no floating point is involved.
Result<Nanos> parse_time(std::string_view text);

/// Reads one line, token by token. The returned views point into the line.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  bool at_end();        ///< whether only blanks or a comment are left
  bool accept(char c);  ///< skips blanks; skips `c` and returns true if it comes next
  bool next_is(char c);
  /// `what` names the expected token in the error message.
  Result<std::string_view> word(std::string_view what);
  Result<std::string> text(std::string_view what);  ///< a word, or text in quotes

 private:
  void skip_blanks();
  Result<std::string> quoted();

  std::string_view rest_;
};

}  // namespace weft::graph
