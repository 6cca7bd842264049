// SPDX-License-Identifier: Apache-2.0
// The Kineto trace of PyTorch writes the shapes and types of an op's inputs as two JSON texts:
//   "Input Dims": [[4, 2048], [], [[8], [16]]]     "Input type": ["float", "Scalar", "TensorList"]
// The items correspond by position. A list of shapes is a tensor list.
#include "weft/trace/dtype.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weft::trace {
namespace {

struct Dtype {
  std::string_view name;
  Bytes size;
};

// PyTorch writes C++ types for operator inputs and ScalarType names for collectives. Horovod writes
// NumPy's names.
constexpr Dtype kDtypes[] = {
    {"float", 4},
    {"Float", 4},
    {"double", 8},
    {"Double", 8},
    {"c10::Half", 2},
    {"Half", 2},
    {"c10::BFloat16", 2},
    {"BFloat16", 2},
    {"long int", 8},
    {"long", 8},
    {"Long", 8},
    {"int", 4},
    {"Int", 4},
    {"short int", 2},
    {"short", 2},
    {"Short", 2},
    {"signed char", 1},
    {"char", 1},
    {"Char", 1},
    {"unsigned char", 1},
    {"Byte", 1},
    {"bool", 1},
    {"Bool", 1},
    {"long long", 8},
    {"unsigned int", 4},
    {"UInt32", 4},
    {"unsigned long", 8},
    {"UInt64", 8},
    {"unsigned short", 2},
    {"UInt16", 2},
    {"c10::complex<float>", 8},
    {"ComplexFloat", 8},
    {"c10::complex<double>", 16},
    {"ComplexDouble", 16},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"int8", 1},
    {"uint8", 1},
    {"int16", 2},
    {"uint16", 2},
    {"int32", 4},
    {"int64", 8},
};

// Reads the items of a JSON array one by one. Does not build a tree, which would be slow: every
// operator of a trace has such a text.
class ArrayText {
 public:
  explicit ArrayText(std::string_view text) : text_(text) {
    if (!text_.empty() && text_.front() == '[') text_.remove_prefix(1);
  }

  /// The next item (array, string with quotes, or number), or empty at the end.
  std::string_view next() {
    const std::size_t start = text_.find_first_not_of(" ,\n\t\r");
    if (start == std::string_view::npos || text_[start] == ']') return {};
    text_.remove_prefix(start);
    std::size_t depth = 0;
    std::size_t i = 0;
    for (; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        i = std::min(text_.find('"', i + 1), text_.size() - 1);
      } else if (c == '[') {
        ++depth;
      } else if (c == ']') {
        if (depth == 0) break;
        --depth;
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    const std::string_view item = text_.substr(0, i);
    text_.remove_prefix(i);
    return item.substr(0, item.find_last_not_of(" \n\t\r") + 1);
  }

 private:
  std::string_view text_;
};

// Damaged files may contain any number. Below this limit, sizes times 16 bytes cannot overflow.
constexpr Bytes kTooMany = std::numeric_limits<Bytes>::max() / 64;

bool is_list(std::string_view dims) {
  return dims.size() > 1 && dims.find('[', 1) != std::string_view::npos;
}

}  // namespace

std::int64_t shape_elements(std::string_view shape) {
  Bytes product = 1;
  ArrayText sizes(shape);
  for (std::string_view item = sizes.next(); !item.empty(); item = sizes.next()) {
    Bytes size = 0;
    for (const char c : item) {
      if (c < '0' || c > '9') return -1;
      size = size * 10 + (c - '0');
      if (size > kTooMany) return -1;
    }
    if (size != 0 && product > kTooMany / size) return -1;
    product *= size;
  }
  return product;
}

Bytes dtype_size(std::string_view name) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& d) { return d.name == name; });
  if (found != std::end(kDtypes)) return found->size;
  // There are many 8-bit float types (Float8_e4m3fn, ...), all with one byte per element.
  return name.find("Float8") != std::string_view::npos ? 1 : 0;
}

Bytes input_bytes(std::string_view dims, std::string_view types, std::string_view list_dtype) {
  ArrayText shapes(dims);
  ArrayText names(types);
  Bytes total = -1;
  const auto add = [&](std::string_view shape, Bytes element) {
    const Bytes count = element > 0 ? shape_elements(shape) : -1;
    if (count >= 0 && total < kTooMany) total = std::max<Bytes>(total, 0) + count * element;
  };
  for (;;) {
    const std::string_view shape = shapes.next();
    std::string_view type = names.next();
    if (shape.empty() || type.size() < 2) return total;
    type = type.substr(1, type.size() - 2);
    // PyTorch names the type of a tensor list "TensorList", without the type of its elements.
    if (is_list(shape)) {
      ArrayText list(shape);
      for (auto item = list.next(); !item.empty(); item = list.next()) {
        add(item, dtype_size(type == "TensorList" ? list_dtype : type));
      }
    } else {
      add(shape, dtype_size(type));
    }
  }
}

std::int64_t input_elements(std::string_view dims) {
  std::int64_t total = -1;
  const auto add = [&](std::string_view shape) {
    const bool empty = shape.find_first_of("0123456789") == std::string_view::npos;
    const std::int64_t count = empty ? -1 : shape_elements(shape);
    if (count >= 0 && total < kTooMany) total = std::max<std::int64_t>(total, 0) + count;
  };
  ArrayText shapes(dims);
  for (auto shape = shapes.next(); !shape.empty(); shape = shapes.next()) {
    if (!is_list(shape)) {
      add(shape);
      continue;
    }
    ArrayText list(shape);
    for (auto item = list.next(); !item.empty(); item = list.next()) add(item);
  }
  return total;
}

}  // namespace weft::trace
