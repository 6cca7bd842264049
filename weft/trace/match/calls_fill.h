// SPDX-License-Identifier: Apache-2.0
// Fills in calls that were recorded without arguments. Private to communication_calls().
#pragma once

#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// `known[k]` says that the kernel or a host op described calls[k]. The other calls take size,
/// group and peers from the same call of another step, and are marked as inferred. If no such call
/// is found, they take the group of their stream. At worst quadratic in the calls of a stream (all
/// periods are tried), but a wrong period usually fails at its first call.
void fill_unknown_calls(const RankTrace& trace, const std::vector<bool>& known,
                        std::vector<Call>& calls);

}  // namespace weft::trace
