// SPDX-License-Identifier: Apache-2.0
// From Weft's errors to the exceptions of python/weft/errors.py.
#pragma once

#include "weft/base/result.h"

namespace weft::python {

/// InternalError of the library becomes weft.InternalError.
void register_errors();

/// Raises the exception that belongs to the error's code. Needs the GIL.
[[noreturn]] void raise(const Error& error);

}  // namespace weft::python
