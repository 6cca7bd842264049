// SPDX-License-Identifier: Apache-2.0
// Python's view of the report room: Run.report.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// After bind_trace, which makes Run.
void bind_report(nanobind::module_& module);

}  // namespace weft::python
