// SPDX-License-Identifier: Apache-2.0
// The one move that every plan is made of: all devices go from one layout to the next in one round,
// each receiving exactly what it lacks. An all-gather, an all-to-all, a permute, a reduce-scatter
// and a direct all-to-all-v are all exchanges; only the two layouts differ.
#pragma once

#include <vector>

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"
#include "weft/reshard/round/round.h"

namespace weft::reshard {

/// What one device sends to another out of one part of the old layout, for one part of the new: the
/// elements that both parts have.
struct Piece {
  Device from = 0, to = 0;
  Part from_part = 0;  ///< of the old layout: the first that has the sender's region and group
  Part to_part = 0;    ///< of the new layout
  bool add = false;

  bool operator==(const Piece&) const = default;
};

/// Whether an exchange can lead there: groups of summands may be joined, never be parted.
bool exchangeable(const Layout& from, const Layout& to);

/// Elements of what each device shall hold that it has already, of whatever group of summands it
/// has.
std::vector<std::int64_t> kept(const Layout& from, const Layout& to);
/// Elements that each device receives in exchange(from, to).
std::vector<std::int64_t> received(const Layout& from, const Layout& to);

/// The transfers. A device takes from itself what it holds; else each piece comes from one of the
/// copies, from one of the same node if there is any, and loads of copies are balanced. Where
/// summands are reduced, one group (the device's own where it has one) is put in place and the
/// others are added. In the order of receivers, then senders.
Round exchange(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// The same as pieces, in the order of to_part, from_part.
std::vector<Piece> pieces(const Layout& from, const Layout& to, OverlapCache& overlaps);
/// Those that `self` sends or receives, without making all others.
std::vector<Piece> pieces_of(Device self, const Layout& from, const Layout& to, OverlapCache& overlaps);

}  // namespace weft::reshard
