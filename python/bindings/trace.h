// SPDX-License-Identifier: Apache-2.0
// Python's view of the trace room: Run, Rank, Events and what was odd about the input.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

void bind_trace(nanobind::module_& module);

}  // namespace weft::python
