// SPDX-License-Identifier: Apache-2.0
// Fills in calls that were recorded without arguments. Private to communication_calls().
#pragma once

#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// `known[k]`: whether the arguments of calls[k] were recorded, with its kernel or with a host op.
/// Each other call takes size, group and peers from the corresponding call of another step, and is
/// marked as inferred. If there is no such call, it takes only the group, from the other calls of
/// its stream. The worst case takes quadratic time in the calls of a stream, because all periods
/// are tried. But a wrong period usually fails at its first call.
void fill_unknown_calls(const RankTrace& trace, const std::vector<bool>& known,
                        std::vector<Call>& calls);

}  // namespace weft::trace
