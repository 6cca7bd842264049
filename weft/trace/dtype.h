// SPDX-License-Identifier: Apache-2.0
// Element sizes by the names that profilers use, and sizes of the tensors that a call was given.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/units.h"

namespace weft::trace {

/// Bytes of one element: "float", "Float", "c10::BFloat16", "long int" ...; 0 if not known.
Bytes dtype_size(std::string_view name);

/// Product of a shape such as "[4, 2048]"; 1 for a scalar's "[]"; -1 if it is none.
std::int64_t shape_elements(std::string_view shape);

/// Sum over the tensors among a call's inputs, from the JSON texts of "Input Dims" and "Input
/// type". Tensor lists carry no element type of their own; `list_dtype` is taken for them. -1 if
/// there is no tensor of known size.
Bytes input_bytes(std::string_view dims, std::string_view types, std::string_view list_dtype);

/// Elements of all inputs that have a shape, from the JSON text of "Input Dims"; -1 if none has.
std::int64_t input_elements(std::string_view dims);

}  // namespace weft::trace
