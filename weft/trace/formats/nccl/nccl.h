// SPDX-License-Identifier: Apache-2.0
// Readers of the JSON lines that plug-ins of NCCL's profiler interface write. A profiler plug-in
// writes single events with references to their parent events. NCCL Inspector writes one summary
// per collective or message. These files contain communication only: no compute and no steps.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

std::unique_ptr<Reader> make_nccl_profiler_reader();
std::unique_ptr<Reader> make_nccl_inspector_reader();

}  // namespace weft::trace
