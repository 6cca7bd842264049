// SPDX-License-Identifier: Apache-2.0
// Splits a window of a rank's time into four parts. Every instant counts once, so the parts add up
// to the window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/sim/causes.h"

namespace weft::predict {

/// The parts in order of precedence: an instant counts for the first part that applies to it.
struct Breakdown {
  Nanos compute = 0;        ///< the device computes or copies
  Nanos communication = 0;  ///< data of a collective or message of the rank moves
  Nanos waiting = 0;        ///< the rank is ready to communicate, but another rank is not
  Nanos host = 0;           ///< the device has no work: the host loads data or has launched nothing

  Nanos total() const { return compute + communication + waiting + host; }
};

using sim::Window;

/// One result per window, for the timeline given by the start and end of every op. Merges the
/// causes of sim::split_by_cause() into the coarser parts that a prediction can distinguish.
std::vector<Breakdown> break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                                  std::span<const Nanos> ends, const std::vector<Window>& windows);

}  // namespace weft::predict
