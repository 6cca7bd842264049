// SPDX-License-Identifier: Apache-2.0
// Are all ranks of a recorded pipeline there? A pipeline without its end looks like a shorter one.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// An Error (kUsage) that names the ranks without a recording which recorded ones exchange messages
/// with. Ranks that nobody talks to, replicas of a data-parallel job, may be missing.
Status check_peers(const trace::Run& run);

/// The same, and one where ranks are missing that collectives of the recorded ones may wait for.
Status check_all_ranks(const trace::Run& run);

}  // namespace weft::pipeline::recorded
