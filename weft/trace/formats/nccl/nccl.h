// SPDX-License-Identifier: Apache-2.0
// Readers of what plug-ins of NCCL's profiler interface write as JSON lines: events with their
// parents (profiler plug-in), or one summary for each collective and message (NCCL Inspector). Both
// see communication only: no compute, no steps.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

std::unique_ptr<Reader> make_nccl_profiler_reader();
std::unique_ptr<Reader> make_nccl_inspector_reader();

}  // namespace weft::trace
