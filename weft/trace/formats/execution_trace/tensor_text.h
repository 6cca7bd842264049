// SPDX-License-Identifier: Apache-2.0
// Tensors inside the JSON text of a node's inputs or outputs: innermost lists of the form
// [tensor id, storage id, offset, elements, bytes per element, "device"].
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/units.h"

namespace weft::trace {

struct TensorSum {
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  Bytes bytes = 0;
};

/// Over all tensors in the text, however deep in lists.
TensorSum sum_tensors(std::string_view json);

/// The element type in a text such as ["GenericList[Tensor(c10::Half)]", "Int"], by the name that
/// collectives use ("Half"); empty if there is none.
std::string_view tensor_dtype(std::string_view types);

}  // namespace weft::trace
