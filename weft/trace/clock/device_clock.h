// SPDX-License-Identifier: Apache-2.0
// Corrects differences between the host clock and the device clock of a rank. The profiler converts
// device times to host times. If the conversion is not exact, kernels seem to run before they were
// launched.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Returns by how much the device events of this rank must move to later times. After this shift,
/// all device work except one event in 200 starts at least 2 us after the beginning of its launch
/// call. Returns 0 if the clocks agree. Also returns 0 if the clocks are more than 5 ms apart: such
/// a recording is broken, and no shift can repair it.
Nanos device_clock_lag(const RankTrace& trace);

/// Moves the device events of each rank by the result of device_clock_lag(), in place, and reports
/// the shift.
void correct_device_clocks(Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
