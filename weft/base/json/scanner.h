// SPDX-License-Identifier: Apache-2.0
// Reads JSON of any size. The caller asks for one piece after the other (a pull scanner). The
// scanner passes over the text once and keeps only a window of it in memory. It repairs the damage
// that profilers and broken copies cause in practice: raw control characters, bad UTF-8, NaN, stray
// commas, a cut end. It counts the repairs of each kind, with the byte offset of the first one. If
// it cannot go on, it does not fail but ends early: see broken() and cut().
//
//   scanner.enter();                       // at '{'
//   while (scanner.next_key(key)) {
//     if (key == "rank") rank = parse_int(scanner.number());
//     else scanner.skip();                 // every value is read or skipped exactly once
//   }
//
// The nesting of the caller's loops follows the nesting of the text. The scanner itself never
// recurses.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/result.h"

namespace weft {

enum class JsonKind : std::uint8_t {
  kNothing,  ///< no value: the text ended, or is not JSON from here on
  kObject,
  kArray,
  kString,
  kNumber,  ///< also NaN, Infinity and the like
  kTrue,
  kFalse,
  kNull,
};

/// How often one kind of damage was repaired, and the byte offset of the first repair.
struct JsonRepair {
  std::int64_t count = 0;
  std::int64_t first_byte = -1;
};

struct JsonRepairs {
  JsonRepair control_characters;  ///< raw control characters: kept in strings, ignored elsewhere
  JsonRepair bad_utf8;            ///< replaced by U+FFFD; skipped strings are not checked
  JsonRepair bad_escapes;         ///< "\q", half surrogates; skipped strings are not checked
  JsonRepair not_numbers;         ///< NaN, Infinity
  JsonRepair stray_commas;
  JsonRepair long_texts;  ///< texts longer than kLongestText; read as empty
};

class JsonScanner {
 public:
  static constexpr std::size_t kDefaultWindow = 256u << 10;
  static constexpr std::size_t kLongestText = 16u << 20;

  /// The scanner keeps a reference to `source`.
  explicit JsonScanner(ByteSource& source, std::size_t window = kDefaultWindow);

  /// Returns the kind of the next value. Consumes only the white space before it.
  JsonKind peek();
  /// Consumes the '{' or '[' that peek() announced.
  void enter() { ++at_; }
  /// Inside an object: reads the next key. Returns false at the end of the object, whose '}' it
  /// consumes, and at the end of the text.
  bool next_key(std::string_view& key);
  /// Inside an array: returns whether another value follows. If none follows, consumes the ']'.
  bool next_item();

  /// string() reads a string, and number() reads a number. If the next value is of another kind,
  /// they skip it and return an empty text.
  std::string_view string();
  std::string_view number();
  /// Reads an integer, or a number or string that contains an integer. For any other value it
  /// returns false and leaves `out` unchanged. Traces consist mostly of integers, so this function
  /// has a fast path.
  bool integer(std::int64_t& out) {
    const char* p = at_;
    if (*p == ' ') ++p;
    std::uint64_t value = 0;
    const char* const first = p;
    for (; static_cast<unsigned char>(*p - '0') < 10; ++p) {
      value = value * 10 + static_cast<unsigned char>(*p - '0');
    }
    // A number of at most 18 digits cannot overflow. The fast path also needs one of these
    // characters behind the digits. Any other character may be the zero byte at the end of the
    // window, and the next window may hold more digits.
    if (p != first && p - first <= 18 && (*p == ',' || *p == '}' || *p == '\n' || *p == ' ')) {
      at_ = p;
      out = static_cast<std::int64_t>(value);
      return true;
    }
    return slow_integer(out);
  }
  /// Reads a value of any kind and returns its text exactly as it stands in the document.
  std::string_view raw();
  /// Reads a number, or the content of a string ("25738"): some profilers put numbers in quotes.
  std::string_view number_or_string() { return peek() == JsonKind::kString ? string() : number(); }
  void skip();

  /// Texts that are read between hold() and release() stay valid until release(). Other texts stay
  /// valid until the next call.
  void hold() { held_ = true; }
  void release();

  /// True if the text at offset() is not JSON. The caller has received everything before this byte.
  /// Only resync() lets a broken scanner continue.
  bool broken() const { return broken_; }
  /// True if the text ended inside a value.
  bool cut() const { return cut_; }
  bool ok() const { return !broken_ && !cut_; }
  /// Moves to the next occurrence of `text` and lets a broken scanner continue there. Returns false
  /// if `text` does not occur any more.
  bool resync(std::string_view text);

  /// Number of bytes consumed.
  std::int64_t offset() const { return base_ + (at_ - buffer_.data.get()); }
  const JsonRepairs& repairs() const { return repairs_; }
  /// An error of the source while it was read. Damage of the text does not count.
  const Status& status() const { return status_; }

 private:
  struct Buffer {
    std::unique_ptr<char[]> data;
    std::size_t capacity = 0;
  };

  /// Skips white space and returns the next byte; '\0' at the end.
  char next_byte() {
    if (static_cast<unsigned char>(*at_) > ' ') return *at_;
    if (*at_ == ' ' && static_cast<unsigned char>(at_[1]) > ' ') return *++at_;
    return skip_space();
  }
  char skip_space();
  bool slow_integer(std::int64_t& out);
  bool refill();
  void move_to_next_buffer();
  void stop();
  void count(JsonRepair& repair, const char* where);
  /// Returns the text from token_ to at_ and clears token_.
  std::string_view take_token();
  /// Moves from behind the opening quote to behind the closing quote, and sets text_ and odd_.
  /// Returns false if the text is cut.
  bool scan_string();
  void skip_string();
  void skip_container();
  void skip_scalar();
  std::string_view decode(std::string_view text);
  Buffer take_buffer(std::size_t capacity);

  ByteSource& source_;
  std::size_t window_;
  const char* at_ = nullptr;     ///< next byte
  const char* end_ = nullptr;    ///< end of the window; a zero byte and padding follow it
  const char* token_ = nullptr;  ///< start of the text that a refill must keep, or null
  Buffer buffer_;                ///< the current window
  std::vector<Buffer> retired_;  ///< earlier windows; texts that the caller holds point into them
  std::vector<Buffer> spare_;    ///< unused windows
  std::deque<std::string> decoded_;  ///< decoded strings; in a deque, so that they never move
  std::string_view text_;
  std::int64_t base_ = 0;  ///< offset of the window's first byte
  bool odd_ = false;       ///< the string has escapes or non-ASCII bytes, so it needs decode()
  bool held_ = false;
  bool ended_ = false;  ///< the source has no more bytes
  bool broken_ = false;
  bool cut_ = false;
  JsonRepairs repairs_;
  Status status_;
};

}  // namespace weft
