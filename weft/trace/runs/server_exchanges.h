// SPDX-License-Identifier: Apache-2.0
// What a worker gets from a parameter server and sends to it. The worker records when it asked for
// a tensor and had it, and when it let go of one; that the other side has it by then, the server
// records. Both number the execution of the function alike.
#pragma once

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds to `rank` what it exchanged with `server`, whose times become those of the rank by adding
/// `shift`: as collectives with nobody else where data crosses a network, else as work of the host.
void add_exchanges(RankTrace& rank, const RankTrace& server, Nanos shift, bool over_network);

/// Whether that was done.
bool has_exchanges(const RankTrace& rank);

}  // namespace weft::trace
