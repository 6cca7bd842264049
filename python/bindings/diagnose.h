// SPDX-License-Identifier: Apache-2.0
// Python bindings of weft/diagnose: Run.diagnose and Run.diff.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// Call it after bind_trace, which makes Run.
void bind_diagnose(nanobind::module_& module);

}  // namespace weft::python
