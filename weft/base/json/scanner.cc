// SPDX-License-Identifier: Apache-2.0
// Implements JsonScanner, which is fast although its memory is bounded. It works on a window of the
// text. A zero byte follows the window. All loops stop at a zero byte, so they need no check for
// the end of the window. Only if a loop stops at the end (at_ == end_), refill() reads more. Texts
// are views into the window. They are copied only if they need decoding. `token_` marks the start
// of a text that continues beyond the end of the window. refill() moves this unfinished text to the
// start of the next window.
#include "weft/base/json/scanner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weft/base/decimal.h"
#include "weft/base/json/bytes.h"
#include "weft/base/json/unescape.h"

namespace weft {
namespace {

constexpr std::size_t kPadding = 64;
constexpr std::size_t kSmallestRead = 4096;

enum : std::uint8_t { kSpace = 1, kScalar = 2 };

// The class kScalar has the characters of numbers and literals, including NaN and -Infinity.
constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> table{};
  for (const unsigned char c : {' ', '\n', '\r', '\t'}) table[c] = kSpace;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = kScalar;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = kScalar;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = kScalar;
  for (const unsigned char c : {'+', '-', '.', '#', '_'}) table[c] = kScalar;
  return table;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

inline bool is(char c, std::uint8_t wanted) {
  return kClasses[static_cast<unsigned char>(c)] == wanted;
}

}  // namespace

JsonScanner::JsonScanner(ByteSource& source, std::size_t window)
    : source_(source), window_(std::max<std::size_t>(window, 64)) {
  buffer_ = take_buffer(window_);
  at_ = end_ = buffer_.data.get();
  buffer_.data[0] = '\0';
  // A byte order mark has three bytes, but the source may give fewer at once. Read until there are
  // three.
  while (end_ - at_ < 3) {
    token_ = at_;
    at_ = end_;
    const bool more = refill();
    at_ = std::exchange(token_, nullptr);
    if (!more) break;
  }
  if (end_ - at_ >= 3 && std::memcmp(at_, "\xef\xbb\xbf", 3) == 0) at_ += 3;
}

// Returns a spare window that is large enough, or a new window.
JsonScanner::Buffer JsonScanner::take_buffer(std::size_t capacity) {
  for (Buffer& candidate : spare_) {
    if (candidate.capacity < capacity) continue;
    Buffer found = std::move(candidate);
    candidate = std::move(spare_.back());
    spare_.pop_back();
    return found;
  }
  return {std::make_unique_for_overwrite<char[]>(capacity + kPadding), capacity};
}

// Reads more bytes into the window. Must be called with at_ == end_.
bool JsonScanner::refill() {
  if (ended_) return false;
  // No sensible value has a single text of many megabytes. Skip such a text, to keep memory
  // bounded.
  if (token_ != nullptr && static_cast<std::size_t>(end_ - token_) > kLongestText) {
    count(repairs_.long_texts, token_);
    token_ = nullptr;
  }
  const auto used = [&] { return static_cast<std::size_t>(end_ - buffer_.data.get()); };
  // A source may give fewer bytes than requested, so the window may have free space. Fill this
  // space first, because that needs no copy.
  if (buffer_.capacity - used() < std::min(kSmallestRead, buffer_.capacity / 2)) {
    move_to_next_buffer();
  }
  // After a read error the scanner behaves as at the end of the file. status() tells the two apart.
  char* const free = buffer_.data.get() + used();
  auto got = source_.read(free, buffer_.capacity - used());
  if (!got) status_ = tl::unexpected(got.error());
  const std::size_t fresh = got ? *got : 0;
  ended_ = fresh == 0;
  end_ = free + fresh;
  std::memset(free + fresh, 0, kPadding);
  return fresh > 0;
}

// Starts another window and copies the unfinished token into it. Keeps the old window as long as
// texts that the caller holds may point into it.
void JsonScanner::move_to_next_buffer() {
  const char* keep = token_ != nullptr ? token_ : at_;
  const std::size_t tail = static_cast<std::size_t>(end_ - keep);
  Buffer next = take_buffer(std::max(window_, 2 * tail));
  std::memcpy(next.data.get(), keep, tail);
  base_ += keep - buffer_.data.get();
  (held_ ? retired_ : spare_).push_back(std::move(buffer_));
  buffer_ = std::move(next);
  at_ = end_ = buffer_.data.get() + tail;
  if (token_ != nullptr) token_ = buffer_.data.get();
}

void JsonScanner::release() {
  held_ = false;
  if (retired_.empty() && decoded_.empty()) return;
  decoded_.clear();
  for (Buffer& buffer : retired_) {
    // One spare window of the usual size is enough. Larger windows are freed.
    if (spare_.empty() && buffer.capacity <= window_) spare_.push_back(std::move(buffer));
  }
  retired_.clear();
}

// Keeps only the first place, because a damaged file may have millions of them.
void JsonScanner::count(JsonRepair& repair, const char* where) {
  if (repair.count++ == 0) repair.first_byte = base_ + (where - buffer_.data.get());
}

// Called where a JSON token should follow but none does: the text has ended, or it is not JSON.
void JsonScanner::stop() {
  if (at_ == end_) {
    cut_ = true;
  } else {
    broken_ = true;
  }
}

char JsonScanner::skip_space() {
  for (;;) {
    at_ = json_bytes::space_stop(at_);
    const char c = *at_;
    if (static_cast<unsigned char>(c) >= 0x20) return c;
    if (at_ == end_) {
      if (!refill()) return '\0';
      continue;
    }
    count(repairs_.control_characters, at_++);
  }
}

// The first character of a value tells its kind. The only exception is 'n', with which both "nan"
// and "null" begin.
JsonKind JsonScanner::peek() {
  if (!ok()) return JsonKind::kNothing;
  const char c = next_byte();
  switch (c) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
      return JsonKind::kTrue;
    case 'f':
      return JsonKind::kFalse;
    case 'n':
      // The second letter tells "nan" from "null". It may lie in the next window.
      if (at_ + 1 == end_) {
        token_ = at_++;
        refill();
        at_ = token_;
        token_ = nullptr;
      }
      return at_[1] == 'a' ? JsonKind::kNumber : JsonKind::kNull;
    default:
      if (is(c, kScalar)) return JsonKind::kNumber;
      return JsonKind::kNothing;
  }
}

// Commas may be missing or repeated. A missing comma is ignored. An extra comma is counted.
bool JsonScanner::next_key(std::string_view& key) {
  if (!ok()) return false;
  bool comma = false;
  for (;;) {
    const char c = next_byte();
    if (c == '"') break;
    if (c == ',') {
      if (comma) count(repairs_.stray_commas, at_);
      comma = true;
      ++at_;
    } else if (c == '}') {
      if (comma) count(repairs_.stray_commas, at_);
      ++at_;
      return false;
    } else {
      stop();
      return false;
    }
  }
  ++at_;
  // Fast path: the key and its colon are in the window and need no decoding.
  bool non_ascii = false;
  const char* const quote = json_bytes::string_stop(at_, non_ascii);
  if (*quote == '"' && quote[1] == ':' && !non_ascii) {
    key = {at_, static_cast<std::size_t>(quote - at_)};
    at_ = quote + 2;
    return true;
  }
  if (!held_) decoded_.clear();
  if (!scan_string()) return false;
  key = odd_ ? decode(text_) : text_;
  // The search for the colon may refill the window. Marking the key as a token keeps it valid.
  if (!odd_) token_ = key.data();
  const char c = skip_space();
  if (!odd_) key = {token_, token_ == nullptr ? 0 : key.size()};
  token_ = nullptr;
  if (c != ':') {
    stop();
    return false;
  }
  ++at_;
  return true;
}

bool JsonScanner::next_item() {
  if (!ok()) return false;
  bool comma = false;
  for (;;) {
    const char c = next_byte();
    if (c == ',') {
      if (comma) count(repairs_.stray_commas, at_);
      comma = true;
      ++at_;
    } else if (c == ']') {
      if (comma) count(repairs_.stray_commas, at_);
      ++at_;
      return false;
    } else if (peek() == JsonKind::kNothing) {
      stop();
      return false;
    } else {
      return true;
    }
  }
}

// The slow path for strings. It handles any length, escapes and damage. The caller has already
// consumed the opening quote.
bool JsonScanner::scan_string() {
  token_ = at_;
  odd_ = false;
  for (;;) {
    at_ = json_bytes::string_stop(at_, odd_);
    if (*at_ == '"') break;
    if (*at_ == '\\') {
      odd_ = true;
      ++at_;
      if (at_ == end_ && !refill()) break;
      ++at_;
    } else if (at_ != end_) {
      count(repairs_.control_characters, at_++);
    } else if (!refill()) {
      break;
    }
  }
  text_ = take_token();
  if (at_ == end_) {
    cut_ = true;
    return false;
  }
  ++at_;
  return true;
}

std::string_view JsonScanner::take_token() {
  const char* start = token_;
  token_ = nullptr;
  if (start == nullptr) return {};  // too long: refill() dropped it
  return {start, static_cast<std::size_t>(at_ - start)};
}

// Decoded texts are new strings, so `decoded_` must own them until release() or the next call.
std::string_view JsonScanner::decode(std::string_view text) {
  JsonUnescaped unescaped = unescape_json(text);
  const auto note = [&](JsonRepair& repair, std::int64_t times, std::size_t first) {
    if (times == 0) return;
    count(repair, text.data() + first);
    repair.count += times - 1;
  };
  note(repairs_.bad_utf8, unescaped.bad_utf8, unescaped.first_bad_utf8);
  note(repairs_.bad_escapes, unescaped.bad_escapes, unescaped.first_bad_escape);
  decoded_.push_back(std::move(unescaped.text));
  return decoded_.back();
}

std::string_view JsonScanner::string() {
  const JsonKind kind = peek();
  if (kind != JsonKind::kString) {
    skip();
    return {};
  }
  ++at_;
  // Fast path: the string is complete in the window and needs no decoding.
  bool non_ascii = false;
  const char* const quote = json_bytes::string_stop(at_, non_ascii);
  if (*quote == '"' && !non_ascii) {
    const std::string_view plain(at_, static_cast<std::size_t>(quote - at_));
    at_ = quote + 1;
    return plain;
  }
  if (!held_) decoded_.clear();
  if (!scan_string()) return {};
  return odd_ ? decode(text_) : text_;
}

std::string_view JsonScanner::number() {
  const JsonKind kind = peek();
  if (kind != JsonKind::kNumber) {
    skip();
    return {};
  }
  // If the number reaches the end of the window, it may continue in the next one.
  const char* p = at_;
  while (is(*p, kScalar)) ++p;
  std::string_view text(at_, static_cast<std::size_t>(p - at_));
  if (p != end_) {
    at_ = p;
  } else {
    token_ = at_;
    skip_scalar();
    text = take_token();
  }
  // Every number ends with a digit or a point; NaN and Infinity end with a letter.
  if (!text.empty() && text.back() > '9') count(repairs_.not_numbers, text.data());
  return text;
}

bool JsonScanner::slow_integer(std::int64_t& out) {
  const auto value = parse_int(number_or_string());
  if (value) out = *value;
  return value.has_value();
}

std::string_view JsonScanner::raw() {
  if (peek() == JsonKind::kNothing) {
    stop();
    return {};
  }
  token_ = at_;
  if (*at_ == '"') {
    skip_string();
  } else if (*at_ == '{' || *at_ == '[') {
    skip_container();
  } else {
    skip_scalar();
  }
  const std::string_view text = take_token();
  return ok() ? text : std::string_view();
}

void JsonScanner::skip() {
  switch (peek()) {
    case JsonKind::kNothing:
      stop();
      return;
    case JsonKind::kString:
      skip_string();
      return;
    case JsonKind::kObject:
    case JsonKind::kArray:
      skip_container();
      return;
    case JsonKind::kNumber:
      number();
      return;
    default:
      skip_scalar();
  }
}

void JsonScanner::skip_scalar() {
  for (;;) {
    while (is(*at_, kScalar)) ++at_;
    if (at_ != end_ || !refill()) return;
  }
}

// Like scan_string(), but does not keep the text. So one window is enough for a skipped string of
// any length.
void JsonScanner::skip_string() {
  ++at_;
  bool ignored = false;
  for (;;) {
    at_ = json_bytes::string_stop(at_, ignored);
    if (*at_ == '"') {
      ++at_;
      return;
    }
    if (*at_ == '\\') {
      ++at_;
      if (at_ == end_ && !refill()) break;
      ++at_;
    } else if (at_ != end_) {
      count(repairs_.control_characters, at_++);
    } else if (!refill()) {
      break;
    }
  }
  cut_ = true;
}

// Counts opening and closing brackets without comparing their kinds. The inside of a skipped value
// need not be valid.
void JsonScanner::skip_container() {
  std::size_t depth = 0;
  for (;;) {
    at_ = json_bytes::structure_stop(at_);
    const char c = *at_;
    if (c == '"') {
      skip_string();
      if (cut_) return;
    } else if (c == '\0') {
      if (at_ != end_) {
        count(repairs_.control_characters, at_++);
      } else if (!refill()) {
        cut_ = true;
        return;
      }
    } else {
      ++at_;
      if (c == '{' || c == '[') {
        ++depth;
      } else if (--depth == 0) {
        return;
      }
    }
  }
}

bool JsonScanner::resync(std::string_view text) {
  broken_ = false;
  for (;;) {
    const std::string_view window(at_, static_cast<std::size_t>(end_ - at_));
    const std::size_t found = window.find(text);
    if (found != std::string_view::npos) {
      at_ += found;
      return true;
    }
    // Keep the last bytes of the window: `text` may begin in this window and end in the next one.
    token_ = at_ + (window.size() >= text.size() ? window.size() - text.size() + 1 : 0);
    at_ = end_;
    const bool more = refill();
    if (!more) {
      token_ = nullptr;
      cut_ = true;
      return false;
    }
    at_ = token_;
    token_ = nullptr;
  }
}

}  // namespace weft
