// SPDX-License-Identifier: Apache-2.0
// Finds the size of a tensor element from the name that a profiler writes for its type, and the
// size of all tensors among the inputs of a call.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/units.h"

namespace weft::trace {

/// Returns the bytes of one element of a type: "float", "Float", "c10::BFloat16", "long int" ...; 0
/// if the type is not known.
Bytes dtype_size(std::string_view name);

/// Returns the number of elements of a shape such as "[4, 2048]"; 1 for a scalar ("[]"); -1 if the
/// text is not a shape.
std::int64_t shape_elements(std::string_view shape);

/// Returns the sum of the sizes of all tensors among a call's inputs. Reads the JSON texts of
/// "Input Dims" and "Input type". For a tensor list ("TensorList"), these texts do not tell the
/// type of the elements; `list_dtype` is used for it. Returns -1 if there is no tensor of known
/// size.
Bytes input_bytes(std::string_view dims, std::string_view types, std::string_view list_dtype);

/// Returns the number of elements of all inputs that have a shape. Reads the JSON text of "Input
/// Dims". Returns -1 if no input has a shape.
std::int64_t input_elements(std::string_view dims);

}  // namespace weft::trace
