// SPDX-License-Identifier: Apache-2.0
// Turns Weft's errors into the exceptions of python/weft/errors.py.
#pragma once

#include "weft/base/result.h"

namespace weft::python {

/// From now on, a C++ InternalError that reaches Python becomes weft.InternalError.
void register_errors();

/// Raises the Python exception for the error's code. The caller must hold the GIL.
[[noreturn]] void raise(const Error& error);

}  // namespace weft::python
