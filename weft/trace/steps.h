// SPDX-License-Identifier: Apache-2.0
// Which training step an instant of the host belongs to.
#pragma once

#include <cstdint>

#include "weft/trace/events.h"

namespace weft::trace {

/// The step in which the host was at `time`, by its number; -1 outside of all steps. A step lasts
/// until the next begins. Where none are marked the whole recording is step 0.
std::int32_t step_at(const RankTrace& trace, Nanos time);

}  // namespace weft::trace
