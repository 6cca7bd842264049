// SPDX-License-Identifier: Apache-2.0
// What a stretch of a rank's time is made of. Every instant counts once, so the parts add up.
#pragma once

#include <span>

#include "weft/graph/graph.h"

namespace weft::predict {

struct Breakdown {
  Nanos compute = 0;        ///< the device computes or copies, whatever else happens
  Nanos communication = 0;  ///< otherwise: data of a collective or message of the rank moves
  Nanos waiting = 0;        ///< otherwise: the rank is ready to communicate, another is not
  Nanos host = 0;           ///< otherwise: nothing runs, the host has not launched anything yet

  Nanos total() const { return compute + communication + waiting + host; }
};

/// From `begin` to `end` on `rank`, in a timeline given by the start and end of every op. A rank
/// without streams (op timelines) computes on its host lanes, and `host` are the gaps between ops.
Breakdown break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                     std::span<const Nanos> ends, std::int32_t rank, Nanos begin, Nanos end);

}  // namespace weft::predict
