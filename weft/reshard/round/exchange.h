// SPDX-License-Identifier: Apache-2.0
// An exchange is one round that takes all devices from one layout to the next; each device receives
// exactly the elements that it lacks. All-gather, all-to-all, permute, reduce-scatter and direct
// all-to-all-v are all exchanges; only the two layouts differ. So plans need no other operation.
#pragma once

#include <vector>

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"
#include "weft/reshard/round/round.h"

namespace weft::reshard {

/// What one device sends to another from one part of the old layout for one part of the new layout:
/// all elements that are in both parts.
struct Piece {
  Device from = 0, to = 0;
  Part from_part = 0;  ///< in the old layout: the first part with the sender's region and group
  Part to_part = 0;    ///< in the new layout
  bool add = false;    ///< the receiver adds the piece to what it has, instead of storing it

  bool operator==(const Piece&) const = default;
};

/// Whether an exchange can lead from one layout to the other: it can merge groups of summands but
/// never split one.
bool exchangeable(const Layout& from, const Layout& to);

/// By device: elements of its parts of `to` that it holds already. If its group of summands is one
/// of several to be added up, elements of that group count.
std::vector<std::int64_t> kept(const Layout& from, const Layout& to);
/// By device: elements that it receives in exchange(from, to).
std::vector<std::int64_t> received(const Layout& from, const Layout& to);

/// The transfers of one round. A device keeps the elements that it holds. Any other piece comes
/// from one of the devices that hold a copy, if possible from one of the receiver's node, and the
/// load is balanced over the copies. If summands are reduced, one group is stored (the receiver's
/// own, if it has one) and the others are added. Sorted by receiver, then sender.
Round exchange(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// The same transfers as pieces, sorted by to_part, then from_part.
std::vector<Piece> pieces(const Layout& from, const Layout& to, OverlapCache& overlaps);
/// Only the pieces that `self` sends or receives, without computing all others. Every device that
/// calls it chooses the same senders as pieces() does.
std::vector<Piece> pieces_of(Device self, const Layout& from, const Layout& to,
                             OverlapCache& overlaps);

}  // namespace weft::reshard
