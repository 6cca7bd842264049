// SPDX-License-Identifier: Apache-2.0
// Decides where a device keeps its parts of an array between rounds. Each part lies in exactly one
// place:
// - in the source buffer, as long as nothing was received;
// - in its final place in the target buffer, as soon as it is a piece of the final part;
// - otherwise in staging.
// The place depends only on layouts. So every device can tell where all other devices keep their
// parts.
#pragma once

#include <functional>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// The layouts that an array passes through, from source to target. A hop is the change from one
/// layout to the next. Each hop that moves data happens in a turn.
struct Route {
  static constexpr std::int32_t kNoTurn = -1;

  const Problem* problem = nullptr;
  const Layout* last = nullptr;  ///< Plan::last()
  std::vector<const Layout*> layouts;
  /// Indexed by hop: the turn in which it happens. kNoTurn: nothing moves, because each part of the
  /// next layout lies inside a part of this layout (a view). The last hop always has a turn. This
  /// turn copies everything that is not yet in the target buffer to this buffer.
  std::vector<std::int32_t> turn;
  std::int32_t turns = 0;
  bool sends = false;  ///< anything goes from one device to another

  /// How groups of summands change from one layout to the next.
  struct Hop {
    std::vector<std::int32_t> next_group;  ///< indexed by old group: the new group that contains it
    std::vector<std::int32_t> merged;      ///< indexed by new group: how many old groups it merges
    /// Indexed by device: whether the data that this device keeps is sent to no other device. Empty
    /// if no groups are merged.
    std::vector<char> sole_keeper;
  };
  std::vector<Hop> hops;
  /// Indexed by layout, then by device: the parts that the device holds. A layout in which each
  /// device holds at most one part has an empty list. The last entry is the target.
  std::vector<std::vector<std::vector<Part>>> parts_by_device;

  /// The parts of a device in layout number `layout`. The number after the last layout means the
  /// target.
  std::vector<Part> parts(std::size_t layout, Device device) const;
  /// Calls `take` for every part that the device may store during the whole route.
  void for_each_storage(Device device, const std::function<void(const Layout&, Part)>& take) const;
  /// Whether the data that the device holds before `hop` becomes part of the part `to` of the next
  /// layout.
  bool contributes(std::size_t hop, Device device, Part to) const;
};
Route make_route(const Problem& problem, const Plan& plan);

/// The parts of a layout that a device holds, in the order in which they lie in its buffer.
std::vector<Part> parts_of(const Layout& layout, Device device);

/// Where one part of a layout is stored.
struct Placement {
  enum class Where { kSource, kTarget, kStaging };
  Part part = 0;  ///< the part that is placed
  Where where = Where::kSource;
  /// The part that is stored in memory and contains `part`. Its layout is the source, the target,
  /// or another layout of the route.
  std::size_t layout = 0;
  Part stored = 0;
  std::size_t block = 0;  ///< the block's number; only in staging
};

/// A block of memory in staging. It is first written in turn `written` and last read in turn
/// `read`.
struct Block {
  Bytes bytes = 0;
  std::int32_t written = 0, read = 0;
  Bytes offset = 0;
};

struct Placements {
  std::vector<std::vector<Placement>> of_layout;  ///< indexed by layout of the route
  std::vector<Block> blocks;
};
Placements find_placements(const Route& route, Device device);

/// Gives the blocks offsets. Blocks that are alive in the same turn do not overlap. Returns the
/// size of the memory for all blocks.
Bytes arrange(const std::vector<Block*>& blocks);

}  // namespace weft::reshard::execute
