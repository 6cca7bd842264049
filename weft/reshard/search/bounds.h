// SPDX-License-Identifier: Apache-2.0
// What no plan can beat.
#pragma once

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// In elements. Of a partial side only what holds for every choice of summands.
struct Bounds {
  std::int64_t recv_max = 0;       ///< some device must receive this much
  std::int64_t recv_total = 0;     ///< all devices together
  std::int64_t node_recv_max = 0;  ///< some node must get this much from others; 0: one node
  std::int64_t memory = 0;         ///< some device must hold this much: the larger of both ends
};

Bounds bounds(const Problem& problem);

/// What each device must receive at least before it can hold its parts of `to`, which may be
/// partial.
std::vector<std::int64_t> lacking(const Layout& from, const Layout& to);

/// What the device that receives most must receive at least to get from `from` to `to`, which is
/// not partial. Beyond what single devices lack: to add up the groups of an element takes as many
/// transfers as there are groups less one, and each further device that wants the sum takes one
/// more; so many transfers do not fit onto fewer devices than there are.
std::int64_t least_received(const Layout& from, const Layout& to);

}  // namespace weft::reshard
