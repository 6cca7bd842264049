// SPDX-License-Identifier: Apache-2.0
// Python bindings of the tables and exports of weft/report: Table, Run.table and Run.export.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// Call it after bind_trace, which makes Run.
void bind_tables(nanobind::module_& module);

}  // namespace weft::python
