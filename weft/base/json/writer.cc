// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/writer.h"

#include <charconv>
#include <cmath>

#include "weft/base/check.h"
#include "weft/base/utf8.h"

namespace weft {

// The text may come from a recording, so it may contain any bytes. The output is valid JSON for any
// bytes.
void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = 1;
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out.push_back(kHex[(c >> 4) & 0xf]);
      out.push_back(kHex[c & 0xf]);
    } else if ((length = utf8_length(text)) > 0) {
      out.append(text.substr(0, length));
    } else {
      append_utf8(out, kReplacementCharacter);
      length = 1;
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  out_.push_back('\n');
  out_.append(has_items_.size() * static_cast<std::size_t>(indent_), ' ');
}

// Writes the comma and the new line that must come before a value or key. Writes neither before a
// value that follows its key.
void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_.push_back(',');
  has_items_.back() = true;
  new_line();
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  out_.push_back(bracket);
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  // If this check fails, the caller has a bug: an end without a begin, or a key without a value.
  WEFT_CHECK(!has_items_.empty() && !after_key_);
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) new_line();
  out_.push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  WEFT_CHECK(!after_key_);
  before_value();
  append_json_string(out_, name);
  out_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char buffer[32];  // the shortest form of a double has at most 24 characters
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return raw({buffer, static_cast<std::size_t>(end - buffer)});
}

JsonWriter& JsonWriter::integer(std::int64_t number) { return raw(std::to_string(number)); }
JsonWriter& JsonWriter::unsigned_integer(std::uint64_t number) {
  return raw(std::to_string(number));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

}  // namespace weft
