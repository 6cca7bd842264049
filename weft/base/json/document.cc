// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/document.h"

#include "weft/base/decimal.h"

namespace weft {

// Searches linearly, because objects in these documents have few members. If a name is repeated,
// its last member counts, as in most JSON parsers. So the search goes backwards.
const JsonValue* JsonValue::find(std::string_view name) const {
  for (std::size_t i = keys.size(); i-- > 0;) {
    if (keys[i] == name) return &items[i];
  }
  return nullptr;
}

std::optional<std::int64_t> JsonValue::as_int() const {
  return is_number() ? parse_int(text) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::as_whole() const {
  const auto number = as_int();
  if (!number || static_cast<double>(*number) != as_double()) return std::nullopt;
  return number;
}

std::optional<double> JsonValue::as_double() const {
  return is_number() ? parse_double(text) : std::nullopt;
}

std::optional<JsonValue> read_value(JsonScanner& scanner, int depth) {
  JsonValue value;
  value.kind = scanner.peek();
  switch (value.kind) {
    case JsonKind::kString:
      value.text = scanner.string();
      break;
    case JsonKind::kNumber:
      value.text = scanner.number();
      break;
    case JsonKind::kObject: {
      if (depth >= JsonValue::kDeepest) return std::nullopt;
      scanner.enter();
      std::string_view key;
      while (scanner.next_key(key)) {
        std::string name(key);
        auto member = read_value(scanner, depth + 1);
        if (!member) return std::nullopt;
        value.keys.push_back(std::move(name));
        value.items.push_back(std::move(*member));
      }
      break;
    }
    case JsonKind::kArray:
      if (depth >= JsonValue::kDeepest) return std::nullopt;
      scanner.enter();
      while (scanner.next_item()) {
        auto item = read_value(scanner, depth + 1);
        if (!item) return std::nullopt;
        value.items.push_back(std::move(*item));
      }
      break;
    default:
      scanner.skip();
  }
  // If the text is cut, `value` is incomplete. The caller must not take it for the complete value.
  if (!scanner.ok()) return std::nullopt;
  return value;
}

Result<JsonValue> parse_json(std::string_view text, const std::string& name) {
  const auto source = memory_source(text, name);
  JsonScanner scanner(*source);
  auto value = read_value(scanner);
  if (value) {
    if (scanner.peek() == JsonKind::kNothing && scanner.offset() == std::ssize(text)) {
      return std::move(*value);
    }
    return fail(ErrorCode::kBadInput, "there is more text after the JSON value", name,
                scanner.offset());
  }
  // read_value() failed for one of three reasons. If the scanner is still ok, the value is nested
  // too deeply.
  const char* message = "this is not JSON";
  if (scanner.cut()) message = text.empty() ? "the file is empty" : "the JSON text ends too early";
  if (scanner.ok()) message = "the JSON text is nested too deeply";
  return fail(ErrorCode::kBadInput, message, name, scanner.offset());
}

Result<JsonValue> read_json(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_json(text, path);
}

}  // namespace weft
