// SPDX-License-Identifier: Apache-2.0
// Python bindings of weft/trace: load, pack, Run, Rank, Events, and the diagnostics of the input.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

void bind_trace(nanobind::module_& module);

}  // namespace weft::python
