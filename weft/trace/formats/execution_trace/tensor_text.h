// SPDX-License-Identifier: Apache-2.0
// Finds tensors in the JSON text of a node's inputs or outputs. A tensor is an innermost list of
// the form [tensor id, storage id, offset, elements, bytes per element, "device"].
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

/// Returns the sums over all tensors in the text, at any depth of nested lists. Takes linear time
/// in the text.
TensorSum sum_tensors(std::string_view json);

/// Returns the element type of the first tensor in a text such as
/// ["GenericList[Tensor(c10::Half)]", "Int"]. The result is the name that NCCL records use
/// ("Half"). It is empty if the text has no tensor.
std::string_view tensor_dtype(std::string_view types);

}  // namespace weft::trace
