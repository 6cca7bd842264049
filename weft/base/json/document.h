// SPDX-License-Identifier: Apache-2.0
// A small JSON document as a tree: link tables, plans, settings. Traces go through JsonScanner.
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
  std::string text;               ///< of a string, decoded; of a number, as written
  std::vector<JsonValue> items;   ///< of an array or an object, in the order of the text
  std::vector<std::string> keys;  ///< of an object: keys[i] names items[i]

  bool is_object() const { return kind == JsonKind::kObject; }
  bool is_array() const { return kind == JsonKind::kArray; }
  bool is_string() const { return kind == JsonKind::kString; }
  bool is_number() const { return kind == JsonKind::kNumber; }
  /// The member of that name (the last, if repeated), or null.
  const JsonValue* find(std::string_view name) const;
  /// nullopt where the value is not a number or does not fit.
  std::optional<std::int64_t> as_int() const;
  /// The same, and nullopt as well where it has a fraction, which as_int() rounds away.
  std::optional<std::int64_t> as_whole() const;
  std::optional<double> as_double() const;
};

/// The whole text must be one value; repairs are made silently, a cut or broken text is an Error
/// with its byte. `name` stands for the file in messages.
Result<JsonValue> parse_json(std::string_view text, const std::string& name);
/// The same from a file, plain or gzip.
Result<JsonValue> read_json(const std::string& path);
/// The next value of a scanner; nullopt if it is cut, broken or nested too deep.
std::optional<JsonValue> read_value(JsonScanner& scanner, int depth = 0);

}  // namespace weft
