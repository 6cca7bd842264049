// SPDX-License-Identifier: Apache-2.0
// Divides a window of a rank's time into four parts. Every instant counts for one part, so the
// parts add up to the window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/sim/causes.h"

namespace weft::predict {

/// The parts. If several apply at one instant, the instant counts for the first of them.
struct Breakdown {
  Nanos compute = 0;        ///< the device computes or copies
  Nanos communication = 0;  ///< data of a collective or message of the rank moves
  Nanos waiting = 0;        ///< the rank is ready to communicate, but another rank is not
  Nanos host = 0;           ///< the device has no work: the host loads data or has launched nothing

  Nanos total() const { return compute + communication + waiting + host; }
};

using sim::Window;

/// Returns one result per window. `starts` and `ends` are the timeline: the start and end of every
/// op. Calls sim::split_by_cause() and adds up the causes that a prediction cannot tell apart.
std::vector<Breakdown> break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                                  std::span<const Nanos> ends, const std::vector<Window>& windows);

}  // namespace weft::predict
