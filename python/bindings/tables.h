// SPDX-License-Identifier: Apache-2.0
// Tables and exports of the report room: Run.table, Run.export, Table.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// After bind_trace, which makes Run.
void bind_tables(nanobind::module_& module);

}  // namespace weft::python
