// SPDX-License-Identifier: Apache-2.0
// What no plan can beat.
#pragma once

#include "weft/reshard/problem.h"

namespace weft::reshard {

/// In elements. Of a partial side only what holds for every choice of summands.
struct Bounds {
  std::int64_t recv_max = 0;    ///< some device must receive this much
  std::int64_t recv_total = 0;  ///< all devices together
  std::int64_t memory = 0;      ///< some device must hold this much: the larger of both ends
};

Bounds bounds(const Problem& problem);

/// What each device must receive at least before it can hold its parts of `to`, which may be
/// partial.
std::vector<std::int64_t> lacking(const Layout& from, const Layout& to);

}  // namespace weft::reshard
