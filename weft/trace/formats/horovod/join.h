// SPDX-License-Identifier: Apache-2.0
// Joins a Horovod timeline with the profiles of the same job. The timeline (one file, written by
// the coordinator) has the collectives; the profiles of the ranks have everything else.
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Looks for pairs of a Horovod timeline and a profiled run in the same folder. Their times must
/// overlap, and the run must not have more ranks than the timeline. Copies the collectives of the
/// timeline into the ranks of that run (as collectives on the host) and removes the timeline from
/// `runs`. If the profiles contain communication themselves, they are the better source; then the
/// timeline is removed and nothing is copied. The timeline has the clock of the coordinator's host.
/// How far the clocks of other hosts differ from it follows from the recorded network transfers. So
/// attach the transfers to the profiles before this call.
void join_horovod(std::vector<Run>& runs, Diagnostics& diagnostics);

}  // namespace weft::trace
