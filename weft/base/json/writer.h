// SPDX-License-Identifier: Apache-2.0
// Writes JSON piece by piece into a string. The same calls give the same bytes on every machine.
//
//   JsonWriter w;
//   w.begin_object().field("rank", 0);
//   w.key("steps").begin_array().value(1.5).end_array().end_object();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class JsonWriter {
 public:
  /// `indent`: number of spaces per level; 0 writes everything on one line.
  explicit JsonWriter(int indent = 0) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  /// Writes the shortest text that gives the same double when it is read. Writes null for NaN and
  /// infinity, because JSON has no form for them.
  JsonWriter& value(double number);
  template <std::integral T>
  JsonWriter& value(T number) {
    return std::is_signed_v<T> ? integer(static_cast<std::int64_t>(number))
                               : unsigned_integer(static_cast<std::uint64_t>(number));
  }
  JsonWriter& null();
  /// Copies `json` into the output. It must be one valid JSON value.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  /// The text is complete after every begin_...() has been followed by its end_...().
  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& unsigned_integer(std::uint64_t number);
  void before_value();
  void new_line();

  std::string out_;
  std::vector<bool> has_items_;  ///< one entry per open object or array
  bool after_key_ = false;
  int indent_;
};

/// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weft
