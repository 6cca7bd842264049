// SPDX-License-Identifier: Apache-2.0
// An exchange is one round that takes all devices from one layout to the next. Each device receives
// exactly the elements that it lacks. All-gather, all-to-all, permute, reduce-scatter and
// all-to-all-v are all exchanges; only their two layouts differ. So plans need no other operation.
#pragma once

#include <vector>

#include "weft/reshard/layout/layout.h"
#include "weft/reshard/round/overlap_cache.h"
#include "weft/reshard/round/round.h"

namespace weft::reshard {

/// The elements that one device sends to another: they are in a part of the sender's old layout and
/// in a part of the receiver's new layout.
struct Piece {
  Device from = 0, to = 0;
  /// In the old layout: the first part with the same region and group as the sender's part.
  Part from_part = 0;
  Part to_part = 0;  ///< the receiver's part, in the new layout
  bool add = false;  ///< the receiver adds the piece to what it has, instead of storing it

  bool operator==(const Piece&) const = default;
};

/// Whether an exchange can lead from one layout to the other. An exchange can merge groups of
/// summands but cannot split a group.
bool exchangeable(const Layout& from, const Layout& to);

/// Indexed by device: how many elements of its parts of `to` the device already holds. If `to`
/// merges the device's group of summands with other groups, the elements of its own group count as
/// held.
std::vector<std::int64_t> kept(const Layout& from, const Layout& to);
/// Indexed by device: how many elements the device receives in exchange(from, to).
std::vector<std::int64_t> received(const Layout& from, const Layout& to);

/// The transfers of one round. A device keeps the elements that it already holds. Any other piece
/// comes from a device that holds a copy, preferably from one on the receiver's node. The sending
/// is balanced over these devices. If summands are reduced, one group is stored and all other
/// groups are added to it. The stored group is the receiver's own, if it has one. Transfers are
/// sorted by receiver, then by sender.
Round exchange(const Layout& from, const Layout& to, OverlapCache& overlaps);

/// The transfers of exchange() as pieces, sorted by to_part, then from_part.
std::vector<Piece> pieces(const Layout& from, const Layout& to, OverlapCache& overlaps);
/// Only the pieces that `self` sends or receives; other pieces are not computed. The senders are
/// the same as in pieces(), so all devices agree on them.
std::vector<Piece> pieces_of(Device self, const Layout& from, const Layout& to,
                             OverlapCache& overlaps);

}  // namespace weft::reshard
