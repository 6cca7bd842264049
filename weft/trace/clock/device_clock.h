// SPDX-License-Identifier: Apache-2.0
// Host and device stamp their events with different clocks, which the profiler converts into each
// other, not always well: kernels then seem to run before they were launched.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// How far the device events of this rank lie behind the host's: the least shift after which work
/// starts no earlier than the call that launched it, single outliers aside. 0 where nothing is
/// wrong.
Nanos device_clock_lag(const RankTrace& trace);

/// Moves the device events of every rank by its lag, in place, and says so.
void correct_device_clocks(Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
