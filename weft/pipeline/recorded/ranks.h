// SPDX-License-Identifier: Apache-2.0
// Checks that a recording has all ranks of its pipeline. Without this check, a pipeline whose last
// ranks are missing would look like a shorter pipeline.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::pipeline::recorded {

/// Fails with kUsage if recorded ranks exchange messages with ranks that have no recording, and
/// names these. Other ranks may be missing: replicas of a data-parallel job, for example.
Status check_peers(const trace::Run& run);

/// The same, and also fails if ranks are missing that collectives of the recorded ranks may wait
/// for.
Status check_all_ranks(const trace::Run& run);

}  // namespace weft::pipeline::recorded
