// SPDX-License-Identifier: Apache-2.0
// A JSON document as a tree. Use it for small documents: link tables, plans, settings. Use
// JsonScanner for traces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json/scanner.h"
#include "weft/base/result.h"

namespace weft {

struct JsonValue {
  static constexpr int kDeepest = 128;

  JsonKind kind = JsonKind::kNull;
  std::string text;               ///< strings: decoded; numbers: as in the document
  std::vector<JsonValue> items;   ///< arrays and objects: the values, in order
  std::vector<std::string> keys;  ///< objects: keys[i] is the name of items[i]

  bool is_object() const { return kind == JsonKind::kObject; }
  bool is_array() const { return kind == JsonKind::kArray; }
  bool is_string() const { return kind == JsonKind::kString; }
  bool is_number() const { return kind == JsonKind::kNumber; }
  /// Returns the member with this name (the last one, if the name is repeated), or null.
  const JsonValue* find(std::string_view name) const;
  /// Returns the number, rounded to an integer. Returns nullopt if the value is not a number or
  /// does not fit into 64 bits.
  std::optional<std::int64_t> as_int() const;
  /// Like as_int(), but returns nullopt if the number has a fraction.
  std::optional<std::int64_t> as_whole() const;
  std::optional<double> as_double() const;
};

/// Parses a text that holds exactly one value. Small damage is repaired without a report. If the
/// text is cut or cannot be repaired, returns an Error that gives the byte offset of the damage.
/// Error messages use `name` as the name of the file. Takes linear time.
Result<JsonValue> parse_json(std::string_view text, const std::string& name);
/// Like parse_json(), but reads the text from a plain or gzip file.
Result<JsonValue> read_json(const std::string& path);
/// Reads the next value of a scanner. Returns nullopt if the value is cut, damaged, or nested
/// deeper than kDeepest. This limit keeps the recursion from overflowing the stack.
std::optional<JsonValue> read_value(JsonScanner& scanner, int depth = 0);

}  // namespace weft
