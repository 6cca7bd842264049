// SPDX-License-Identifier: Apache-2.0
// What every reader owes to those behind it.
#pragma once

#include "weft/base/result.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Columns of one length, indices in range, kinds that exist, times in order. The error names the
/// first table that breaks this.
Status verify(const RankTrace& trace);

}  // namespace weft::trace
