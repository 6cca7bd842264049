// SPDX-License-Identifier: Apache-2.0
// A Horovod job that was also profiled has its collectives in one file, the coordinator's timeline,
// and the rest in the profiles of its ranks.
#pragma once

#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Gives the collectives of a timeline to the ranks of the profiled run beside it (same folder,
/// same time, same ranks), as collectives on their hosts, and takes the timeline away. Where
/// profiles show communication themselves they are the better source, and the timeline just goes.
/// Clocks of other hosts than the coordinator's are set by the transfers recorded between them, so
/// those must be attached before.
void join_horovod(std::vector<Run>& runs, Diagnostics& diagnostics);

}  // namespace weft::trace
