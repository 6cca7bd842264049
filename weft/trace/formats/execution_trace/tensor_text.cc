// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/execution_trace/tensor_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "weft/base/decimal.h"

namespace weft::trace {
namespace {

// The largest number of elements of one tensor. With this limit, sums of bytes cannot overflow,
// even in hostile files.
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1024;

// `body` is the text between the brackets of an innermost list. Returns false if it is not a
// tensor.
bool read_tensor(std::string_view body, std::int64_t& elements, std::int64_t& size) {
  std::array<std::int64_t, 5> numbers{};
  for (std::int64_t& number : numbers) {
    const std::size_t comma = body.find(',');
    if (comma == std::string_view::npos) return false;
    std::string_view item = body.substr(0, comma);
    const std::size_t start = item.find_first_not_of(" \n\r\t");
    if (start == std::string_view::npos) return false;
    item = item.substr(start, item.find_last_not_of(" \n\r\t") + 1 - start);
    const auto value = parse_int(item);
    if (!value) return false;
    number = *value;
    body.remove_prefix(comma + 1);
  }
  const std::size_t device = body.find_first_not_of(" \n\r\t");
  if (device == std::string_view::npos || body[device] != '"') return false;
  elements = numbers[3];
  size = numbers[4];
  return elements >= 0 && size >= 0 && size <= 64 && elements < kMost;
}

}  // namespace

// Goes through the text once, without a JSON parser, because the inputs are most of the file's
// text. A list is innermost if there is no other bracket between its opening and its closing
// bracket.
TensorSum sum_tensors(std::string_view json) {
  TensorSum sum;
  std::size_t open = std::string_view::npos;  // the last "["; npos if a "]" came after it
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') ++i;
      }
    } else if (c == '[') {
      open = i;
    } else if (c == ']' && open != std::string_view::npos) {
      std::int64_t elements = 0;
      std::int64_t size = 0;
      if (read_tensor(json.substr(open + 1, i - open - 1), elements, size) &&
          sum.bytes < kMost * 64) {
        ++sum.tensors;
        sum.elements += elements;
        sum.bytes += elements * size;
      }
      open = std::string_view::npos;
    }
  }
  return sum;
}

std::string_view tensor_dtype(std::string_view types) {
  constexpr std::string_view kMark = "Tensor(";
  const std::size_t start = types.find(kMark);
  if (start == std::string_view::npos) return {};
  std::string_view name = types.substr(start + kMark.size());
  name = name.substr(0, name.find(')'));
  if (name.starts_with("c10::")) name.remove_prefix(5);
  // Execution traces print C++ type names; Kineto's collectives use the names of c10::ScalarType.
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"float", "Float"},
      {"double", "Double"},
      {"long int", "Long"},
      {"long", "Long"},
      {"int", "Int"},
      {"short int", "Short"},
      {"short", "Short"},
      {"bool", "Bool"},
      {"unsigned char", "Byte"},
      {"signed char", "Char"},
      {"char", "Char"},
      {"complex<float>", "ComplexFloat"},
      {"complex<double>", "ComplexDouble"},
  };
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kNames) ? name : found->second;
}

}  // namespace weft::trace
