// SPDX-License-Identifier: Apache-2.0
// What calls say that were recorded without arguments. Private to communication_calls().
#pragma once

#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

/// `known[k]` tells that calls[k] was described by its kernel or by the host. The others take size,
/// group and peers from their like in another step (and are marked inferred), or at least the
/// group from their stream.
void fill_unknown_calls(const RankTrace& trace, const std::vector<bool>& known,
                        std::vector<Call>& calls);

}  // namespace weft::trace
