// SPDX-License-Identifier: Apache-2.0
// Profilers copy strings of the recorded program (paths, kernel names) into their JSON, sometimes
// without escaping or checking them. A name with one bad byte is still useful. So only the bad
// parts are replaced, and the rest of the string is kept.
#include "weft/base/json/unescape.h"

#include <algorithm>
#include <utility>

#include "weft/base/utf8.h"

namespace weft {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns the code unit that the four hexadecimal digits at `at` stand for, or -1 if they are
// invalid.
int hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

bool is_high_surrogate(int unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low_surrogate(int unit) { return unit >= 0xdc00 && unit < 0xe000; }

// Returns the character that a one-letter escape stands for, or 0 if there is no such escape.
char plain_escape(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case '"':
    case '\\':
    case '/':
      return letter;
    default:
      return '\0';
  }
}

class Unescaping {
 public:
  explicit Unescaping(std::string_view raw) : raw_(raw) { out_.text.reserve(raw.size()); }

  JsonUnescaped run() {
    while (at_ < raw_.size()) {
      const char c = raw_[at_];
      if (static_cast<unsigned char>(c) >= 0x80) {
        wide_character();
      } else if (c == '\\' && at_ + 1 < raw_.size()) {
        escape();
      } else {
        out_.text.push_back(c);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  // Handles a byte of 0x80 or more. It begins a UTF-8 character, or it is a bad byte and is
  // replaced.
  void wide_character() {
    const std::size_t length = utf8_length(raw_.substr(at_));
    if (length > 0) {
      out_.text.append(raw_, at_, length);
      at_ += length;
      return;
    }
    if (out_.bad_utf8++ == 0) out_.first_bad_utf8 = at_;
    append_utf8(out_.text, kReplacementCharacter);
    ++at_;
  }

  void escape() {
    const char letter = raw_[at_ + 1];
    if (letter == 'u') return code_point();
    if (const char plain = plain_escape(letter)) {
      out_.text.push_back(plain);
      at_ += 2;
      return;
    }
    bad_escape();  // probably a path with single backslashes: keep both characters
    out_.text.push_back('\\');
    ++at_;
  }

  // Handles "\uXXXX". A character above U+FFFF is written as two such escapes: a high and a low
  // surrogate.
  void code_point() {
    const int unit = hex4(raw_, at_ + 2);
    const int low =
        raw_.substr(std::min(at_ + 6, raw_.size()), 2) == "\\u" ? hex4(raw_, at_ + 8) : -1;
    if (is_high_surrogate(unit) && is_low_surrogate(low)) {
      append_utf8(out_.text, 0x10000u + (static_cast<std::uint32_t>(unit - 0xd800) << 10) +
                                 static_cast<std::uint32_t>(low - 0xdc00));
      at_ += 12;
    } else if (unit >= 0 && !is_high_surrogate(unit) && !is_low_surrogate(unit)) {
      append_utf8(out_.text, static_cast<std::uint32_t>(unit));
      at_ += 6;
    } else {
      bad_escape();
      append_utf8(out_.text, kReplacementCharacter);
      at_ += unit >= 0 ? 6 : 2;
    }
  }

  void bad_escape() {
    if (out_.bad_escapes++ == 0) out_.first_bad_escape = at_;
  }

  std::string_view raw_;
  std::size_t at_ = 0;
  JsonUnescaped out_;
};

}  // namespace

JsonUnescaped unescape_json(std::string_view raw) { return Unescaping(raw).run(); }

}  // namespace weft
