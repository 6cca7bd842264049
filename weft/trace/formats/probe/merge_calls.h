// SPDX-License-Identifier: Apache-2.0
// Calls that a probe saw, put into what a profiler recorded of the same process.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace::probe {

/// Adds the events of `calls` that lie inside the recording, on the lanes of the same threads.
/// Nothing is done where the profiler saw such calls itself.
void merge_calls(RankTrace& trace, const RankTrace& calls, Diagnostics& diagnostics);

}  // namespace weft::trace::probe
