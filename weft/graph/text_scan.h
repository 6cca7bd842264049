// SPDX-License-Identifier: Apache-2.0
// Tokens of the text form: words, quoted text, numbers and times. Private to this room.
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

/// "1.5us" and the like, exactly: never through floating point.
Result<Nanos> parse_time(std::string_view text);

/// Walks one line, token by token. Views returned point into the line.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  bool at_end();        ///< nothing left but blanks or a comment
  bool accept(char c);  ///< skips `c` if it comes next
  bool next_is(char c);
  /// `what` says what was expected, for the error.
  Result<std::string_view> word(std::string_view what);
  Result<std::string> text(std::string_view what);  ///< a word, or text in quotes

 private:
  void skip_blanks();
  Result<std::string> quoted();

  std::string_view rest_;
};

}  // namespace weft::graph
