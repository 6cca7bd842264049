// SPDX-License-Identifier: Apache-2.0
// Exchanges between a TensorFlow worker and its parameter server. The worker's profile tells when
// it asked for a tensor and when it had it, and when it sent one. The server's profile tells the
// other end of each. Both sides use the same number for an execution of a function, which makes it
// possible to match the two ends.
#pragma once

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds the exchanges with `server` to the events of `rank`. `shift` is what to add to the server's
/// times to get times of the rank. If the data crosses a network, exchanges are collectives with
/// one member; else they are host work, because no network is involved.
void add_exchanges(RankTrace& rank, const RankTrace& server, Nanos shift, bool over_network);

/// Whether add_exchanges() has added events to this rank.
bool has_exchanges(const RankTrace& rank);

}  // namespace weft::trace
