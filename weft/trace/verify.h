// SPDX-License-Identifier: Apache-2.0
// Checks the guarantees that every reader must give.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// All columns of events have the same length, all indices are in range, all kinds exist, and no
/// start or duration is negative. If this is not true, the error names the first table with a
/// violation. Linear.
Status verify(const RankTrace& trace);

}  // namespace weft::trace
