// SPDX-License-Identifier: Apache-2.0
// Python bindings of weft/report: Run.report.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// Call it after bind_trace, which makes Run.
void bind_report(nanobind::module_& module);

}  // namespace weft::python
