// SPDX-License-Identifier: Apache-2.0
// Checks the times within one rank's recording. Offsets between the clocks of several ranks are
// found in align.h.
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Drops events whose times are far from the times of all other events. Shifts all times so that
/// the earliest event starts at 0, and moves `epoch` accordingly. Reports device work that starts
/// before its launch, steps in the wrong order, and long silences. Returns an Error if no event is
/// left. Takes linear time in the number of events.
Status check_clock(RankTrace& trace, Diagnostics& diagnostics);

}  // namespace weft::trace
