// SPDX-License-Identifier: Apache-2.0
// Adds exchanges between a TensorFlow worker and its parameter server to the worker's trace. If the
// worker receives a tensor, its profile tells when it asked for the tensor and when the tensor had
// arrived. If the worker sends a tensor, its profile tells when the tensor was sent. The server's
// profile tells the same for the other end of each exchange. The two sides use the same number for
// an execution of a function. This makes it possible to match the two ends.
#pragma once

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds the exchanges with `server` to the events of `rank`. `shift` is what to add to the server's
/// times to get times of the rank. If the data crosses a network (`over_network`), each exchange
/// becomes a collective with one member. Otherwise it becomes host work.
void add_exchanges(RankTrace& rank, const RankTrace& server, Nanos shift, bool over_network);

/// Whether add_exchanges() has added events to this rank.
bool has_exchanges(const RankTrace& rank);

}  // namespace weft::trace
