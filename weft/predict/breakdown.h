// SPDX-License-Identifier: Apache-2.0
// What a stretch of a rank's time is made of. Every instant counts once, so the parts add up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/sim/causes.h"

namespace weft::predict {

struct Breakdown {
  Nanos compute = 0;        ///< the device computes or copies, whatever else happens
  Nanos communication = 0;  ///< otherwise: data of a collective or message of the rank moves
  Nanos waiting = 0;        ///< otherwise: the rank is ready to communicate, another is not
  Nanos host = 0;           ///< otherwise: nothing runs, the host has not launched anything yet

  Nanos total() const { return compute + communication + waiting + host; }
};

using sim::Window;

/// One entry a window, in a timeline given by the start and end of every op: the causes of
/// sim::split_by_cause(), summed up to what a prediction can tell.
std::vector<Breakdown> break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                                  std::span<const Nanos> ends, const std::vector<Window>& windows);

}  // namespace weft::predict
