// SPDX-License-Identifier: Apache-2.0
// Adds the MPI calls that a probe recorded to the profiler's trace of the same process.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace::probe {

/// Adds the events of `calls` that start within the recorded time of `trace`, on the lanes of their
/// threads. Does nothing if the profiler recorded MPI calls itself.
void merge_calls(RankTrace& trace, const RankTrace& calls, Diagnostics& diagnostics);

}  // namespace weft::trace::probe
