// SPDX-License-Identifier: Apache-2.0
// Python bindings of weft/sim: Run.memory.
#pragma once

namespace nanobind {
class module_;
}

namespace weft::python {

/// Call it after bind_trace, which makes Run.
void bind_sim(nanobind::module_& module);

}  // namespace weft::python
