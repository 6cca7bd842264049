// SPDX-License-Identifier: Apache-2.0
// A pull scanner for JSON of any size: one pass, one window of memory, forgiving. It repairs what
// profilers and broken copies really produce (raw control characters, bad UTF-8, NaN, stray commas,
// a cut tail), counts each repair with its first byte offset, and ends instead of failing.
//
//   scanner.enter();                       // at '{'
//   while (scanner.next_key(key)) {
//     if (key == "rank") rank = parse_int(scanner.number());
//     else scanner.skip();                 // every value is read or skipped exactly once
//   }
//
// The caller's control flow is the nesting; the scanner itself never recurses.
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
  kNothing,  ///< no value here: the text ended or is not JSON any more
  kObject,
  kArray,
  kString,
  kNumber,  ///< also NaN, Infinity and the like
  kTrue,
  kFalse,
  kNull,
};

/// How often something was repaired, and where first.
struct JsonRepair {
  std::int64_t count = 0;
  std::int64_t first_byte = -1;
};

struct JsonRepairs {
  JsonRepair control_characters;  ///< raw ones: kept in strings, ignored elsewhere
  JsonRepair bad_utf8;            ///< replaced by U+FFFD, in the strings that were asked for
  JsonRepair bad_escapes;         ///< "\q" and half surrogates: likewise
  JsonRepair not_numbers;         ///< NaN, Infinity
  JsonRepair stray_commas;
  JsonRepair long_texts;  ///< longer than kLongestText: given as empty
};

class JsonScanner {
 public:
  static constexpr std::size_t kDefaultWindow = 256u << 10;
  static constexpr std::size_t kLongestText = 16u << 20;

  /// Keeps a reference to `source`.
  explicit JsonScanner(ByteSource& source, std::size_t window = kDefaultWindow);

  /// What the next value is. Consumes white space only.
  JsonKind peek();
  /// Consumes the '{' or '[' that peek() announced.
  void enter() { ++at_; }
  /// Inside an object: the next key, or false once '}' was consumed or the text ended.
  bool next_key(std::string_view& key);
  /// Inside an array: whether a further value follows; false consumes the ']'.
  bool next_item();

  /// Reads one value of that kind; one of another kind is skipped and gives an empty text.
  std::string_view string();
  std::string_view number();
  /// An integer, or a number or string that holds one; false (and `out` untouched) otherwise. The
  /// quick way for what traces consist of.
  bool integer(std::int64_t& out) {
    const char* p = at_;
    if (*p == ' ') ++p;
    std::uint64_t value = 0;
    const char* const first = p;
    for (; static_cast<unsigned char>(*p - '0') < 10; ++p) {
      value = value * 10 + static_cast<unsigned char>(*p - '0');
    }
    // Up to 18 digits cannot overflow; a stop at anything but these may be the window's end.
    if (p != first && p - first <= 18 && (*p == ',' || *p == '}' || *p == '\n' || *p == ' ')) {
      at_ = p;
      out = static_cast<std::int64_t>(value);
      return true;
    }
    return slow_integer(out);
  }
  /// The value's own text, whatever its kind.
  std::string_view raw();
  /// A number, or a string holding one ("25738"): some writers quote them.
  std::string_view number_or_string() { return peek() == JsonKind::kString ? string() : number(); }
  void skip();

  /// Texts stay valid from hold() to release(); without it, until the next call.
  void hold() { held_ = true; }
  void release();

  /// The text went on, but not as JSON: everything up to offset() was delivered. After this only
  /// resync() revives the scanner.
  bool broken() const { return broken_; }
  /// The text ended inside a value.
  bool cut() const { return cut_; }
  bool ok() const { return !broken_ && !cut_; }
  /// Moves to the next place where `text` stands and revives a broken scanner; false at the end.
  bool resync(std::string_view text);

  /// Bytes consumed.
  std::int64_t offset() const { return base_ + (at_ - buffer_.data.get()); }
  const JsonRepairs& repairs() const { return repairs_; }
  /// A read error of the source (not of the text).
  const Status& status() const { return status_; }

 private:
  struct Buffer {
    std::unique_ptr<char[]> data;
    std::size_t capacity = 0;
  };

  /// The next byte that is no white space; '\0' at the end.
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
  /// What lies between token_ and at_; ends the token.
  std::string_view take_token();
  /// From behind the opening quote to behind the closing one; false if cut. Sets text_ and odd_.
  bool scan_string();
  void skip_string();
  void skip_container();
  void skip_scalar();
  std::string_view decode(std::string_view text);
  Buffer take_buffer(std::size_t capacity);

  ByteSource& source_;
  std::size_t window_;
  const char* at_ = nullptr;     ///< next byte
  const char* end_ = nullptr;    ///< end of the window; a zero byte and padding lie behind it
  const char* token_ = nullptr;  ///< start of what must survive a refill, or null
  Buffer buffer_;
  std::vector<Buffer> retired_;  ///< windows that held texts still point into
  std::vector<Buffer> spare_;
  std::deque<std::string> decoded_;
  std::string_view text_;
  std::int64_t base_ = 0;  ///< offset of the window's first byte
  bool odd_ = false;       ///< the string needs decode()
  bool held_ = false;
  bool ended_ = false;
  bool broken_ = false;
  bool cut_ = false;
  JsonRepairs repairs_;
  Status status_;
};

}  // namespace weft
