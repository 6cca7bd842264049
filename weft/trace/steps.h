// SPDX-License-Identifier: Apache-2.0
// Finds the training step that a host time belongs to.
#pragma once

#include <cstdint>

#include "weft/trace/events.h"

namespace weft::trace {

/// Returns the number of the step in which the host was at `time`, or -1 if `time` is outside of
/// all steps. A step lasts until the next one begins. If no steps are marked, the whole recording
/// is step 0. O(log n).
std::int32_t step_at(const RankTrace& trace, Nanos time);

}  // namespace weft::trace
