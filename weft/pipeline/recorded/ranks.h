// SPDX-License-Identifier: Apache-2.0
// Checks that a recording has all ranks of its pipeline. Without this check, a pipeline whose last
// ranks are missing would look like a shorter pipeline.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// Fails with kUsage if recorded ranks exchange messages with ranks that have no recording. The
/// Error names the ranks without a recording. Other ranks may be missing, for example replicas of a
/// data-parallel job.
Status check_peers(const trace::Run& run);

/// Checks the same as check_peers(). Also fails if a rank is missing and a collective of the
/// recorded ranks may wait for it.
Status check_all_ranks(const trace::Run& run);

}  // namespace weft::pipeline::recorded
