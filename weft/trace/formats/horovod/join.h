// SPDX-License-Identifier: Apache-2.0
// Joins a Horovod timeline with the profiles of the same job. The timeline (one file, written by
// the coordinator) has the collectives; the profiles of the ranks have everything else.
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Looks for Horovod timelines whose folder also holds a profiled run, with overlapping times and
/// no more ranks than the timeline. Copies the collectives of the timeline into the ranks of that
/// run (as collectives on the host) and removes the timeline from `runs`. If the profiles show
/// communication themselves, they are the better source: then the timeline is only removed.
/// The timeline has the clock of the coordinator's host. The clocks of other hosts are related to
/// it by the recorded network transfers, so attach those to the profiles before this call.
void join_horovod(std::vector<Run>& runs, Diagnostics& diagnostics);

}  // namespace weft::trace
