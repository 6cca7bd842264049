// SPDX-License-Identifier: Apache-2.0
// Checks the guarantees that every reader must give.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Checks that all columns of events have the same length, that all indices are in range, that all
/// kinds exist, and that no start or duration is negative. Otherwise returns an Error that names
/// the first table with a violation. Takes linear time.
Status verify(const RankTrace& trace);

}  // namespace weft::trace
