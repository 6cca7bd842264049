// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/checksum.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "weft/base/checksum.h"

namespace weft {
namespace {

// The checksum is computed from a text that is the same for all documents with equal values:
// members are sorted by name, and each number has one spelling. Each piece of this text begins with
// its length, so documents with different values give different texts.
void add_text(char kind, std::string_view text, std::string& out) {
  out += kind + std::to_string(text.size()) + ':';
  out += text;
}

/// All spellings of one integer ("10", "1e1", "10.0") give the same text. Any other number is
/// converted to a double first.
void add_number(const JsonValue& value, std::string& out) {
  const auto whole = value.as_int();
  const double number = value.as_double().value_or(0);
  if (whole && static_cast<double>(*whole) == number) {
    out += 'i' + std::to_string(*whole) + ';';
  } else {
    out += 'd' + std::to_string(std::bit_cast<std::uint64_t>(number)) + ';';
  }
}

void add_value(const JsonValue& value, std::span<const std::string_view> left_out,
               std::string& out) {
  switch (value.kind) {
    case JsonKind::kObject: {
      std::vector<std::size_t> order(value.keys.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return value.keys[a] < value.keys[b]; });
      // Write the members sorted by name. Members with the same name keep the order of the
      // document.
      out += '{';
      for (const std::size_t i : order) {
        if (std::find(left_out.begin(), left_out.end(), value.keys[i]) != left_out.end()) continue;
        add_text('k', value.keys[i], out);
        add_value(value.items[i], left_out, out);
      }
      out += '}';
      return;
    }
    case JsonKind::kArray:
      out += '[';
      for (const JsonValue& item : value.items) add_value(item, left_out, out);
      out += ']';
      return;
    case JsonKind::kString:
      return add_text('s', value.text, out);
    case JsonKind::kNumber:
      return add_number(value, out);
    default:
      out += value.kind == JsonKind::kTrue ? 't' : value.kind == JsonKind::kFalse ? 'f' : 'n';
  }
}

}  // namespace

std::string json_checksum(const JsonValue& value, std::span<const std::string_view> left_out) {
  std::string text;
  add_value(value, left_out, text);
  std::string digits(16, '0');
  std::uint64_t sum = checksum(text);
  for (auto digit = digits.rbegin(); sum > 0; ++digit, sum >>= 4)
    *digit = "0123456789abcdef"[sum & 15];
  return digits;
}

}  // namespace weft
