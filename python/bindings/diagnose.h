// SPDX-License-Identifier: Apache-2.0
// Python's view of the diagnose room: Run.diagnose and Run.diff.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// After bind_trace, which makes Run.
void bind_diagnose(nanobind::module_& module);

}  // namespace weft::python
