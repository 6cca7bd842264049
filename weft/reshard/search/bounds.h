// SPDX-License-Identifier: Apache-2.0
// Computes lower bounds that hold for every plan of a problem.
#pragma once

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// Lower bounds, in elements. If the source or the target is partial, the bounds hold for every
/// choice of its summands.
struct Bounds {
  std::int64_t recv_max = 0;    ///< some device must receive at least this much
  std::int64_t recv_total = 0;  ///< all devices together must receive at least this much
  std::int64_t node_recv_max =
      0;                    ///< some node must receive this much from other nodes; 0: unknown
  std::int64_t memory = 0;  ///< some device must hold this much: the larger of the two ends
};

Bounds bounds(const Problem& problem);

/// Indexed by device: the elements that it must receive before it can hold its parts of `to`. 0 for
/// all devices if `to` is partial.
std::vector<std::int64_t> lacking(const Layout& from, const Layout& to);

/// Consider the device that receives most when the layout changes from `from` to `to`. Returns a
/// lower bound on the number of elements that it receives. It is the larger of two bounds:
///   * the most that any single device lacks;
///   * the average over all devices. Adding up the g groups of one element takes at least g - 1
///     transfers of this element. Each additional device that wants the sum takes one transfer
///     more.
std::int64_t least_received(const Layout& from, const Layout& to);

}  // namespace weft::reshard
