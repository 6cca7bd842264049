// SPDX-License-Identifier: Apache-2.0
// The exception classes are written in Python (weft.errors). They are looked up by name when an
// error occurs.
#include "python/bindings/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "weft/base/check.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

const char* class_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kIo:
      return "BadInput";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kUsage:
      return "UsageError";
    case ErrorCode::kInfeasible:
      return "Infeasible";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    case ErrorCode::kPeerFailed:
      return "PeerFailed";
    case ErrorCode::kCancelled:
      return "Cancelled";
  }
  return "InternalError";
}

}  // namespace

void register_errors() {
  // Only InternalError is translated. Errors of other kinds are values (Result, Status), which the
  // bindings pass to raise().
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InternalError& error) {
      const nb::object type = nb::module_::import_("weft.errors").attr("InternalError");
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("weft.errors").attr(class_name(error.code));
  const nb::object file = error.file.empty() ? nb::none() : nb::object(nb::cast(error.file));
  const nb::object byte = error.byte < 0 ? nb::none() : nb::object(nb::cast(error.byte));
  const nb::object instance = type(error.text(), file, byte);
  PyErr_SetObject(type.ptr(), instance.ptr());
  throw nb::python_error();
}

}  // namespace weft::python
