// SPDX-License-Identifier: Apache-2.0
// Host and device events carry time stamps of two different clocks. The profiler converts between
// them, but not always exactly: then kernels seem to run before they were launched.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// The least shift of this rank's device events after which work starts no earlier than 2 us after
/// the beginning of its launch call. One in 200 may stay earlier. 0 if the clocks agree, and 0 if
/// they are more than 5 ms apart: that is a broken recording, which no shift can repair.
Nanos device_clock_lag(const RankTrace& trace);

/// Moves the device events of each rank by its lag, in place, and reports it.
void correct_device_clocks(Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
