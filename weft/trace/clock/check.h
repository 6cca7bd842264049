// SPDX-License-Identifier: Apache-2.0
// Clocks that jump, inside one rank's recording. Offsets between ranks are another matter (graph
// room).
#pragma once

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Drops events that lie absurdly far from all others, makes the earliest event's time 0 (moving
/// `epoch` with it), and reports device work that starts before its launch, steps that run
/// backwards and long silences. Fails if no event is left: then no two times agree.
Status check_clock(RankTrace& trace, Diagnostics& diagnostics);

}  // namespace weft::trace
