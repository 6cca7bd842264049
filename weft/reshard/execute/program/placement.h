// SPDX-License-Identifier: Apache-2.0
// Where a device keeps its parts of an array between rounds. Each part lies in exactly one place:
// in the source buffer as long as nothing was received, in its final place in the target buffer as
// soon as it is a piece of the final part, else in staging. This depends only on layouts, so that
// every device can tell where all other devices keep their parts.
#pragma once

#include <functional>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// The layouts that an array passes through, from source to target, with the turns in which it
/// moves from each layout to the next (a hop).
struct Route {
  static constexpr std::int32_t kNoTurn = -1;

  const Problem* problem = nullptr;
  const Layout* last = nullptr;  ///< Plan::last()
  std::vector<const Layout*> layouts;
  /// By hop: the turn in which it happens. kNoTurn: only the view of the data changes, nothing
  /// moves. The last hop always has a turn, which puts whatever is not yet in the target buffer
  /// there.
  std::vector<std::int32_t> turn;
  std::int32_t turns = 0;
  bool sends = false;  ///< anything goes from one device to another

  /// How groups of summands change from one layout to the next.
  struct Hop {
    std::vector<std::int32_t> next_group;  ///< by old group: the new group it becomes part of
    std::vector<std::int32_t> merged;      ///< by new group: how many old groups it merges
    /// By device: no other device is sent what it keeps. Empty if no groups are merged.
    std::vector<char> sole_keeper;
  };
  std::vector<Hop> hops;
  /// By layout, then device: the parts it holds, for layouts in which devices hold several parts;
  /// else empty. The last entry is the target.
  std::vector<std::vector<std::vector<Part>>> parts_by_device;

  /// Parts of a device in layout number `layout`. The number after the last one is the target.
  std::vector<Part> parts(std::size_t layout, Device device) const;
  /// Calls `take` for every part that the device may store during the whole route.
  void for_each_storage(Device device, const std::function<void(const Layout&, Part)>& take) const;
  /// Whether what the device holds before `hop` contributes to the part `to` of the layout after
  /// it.
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
  /// The stored part that contains it: a part of the source, the target, or a layout of the route.
  std::size_t layout = 0;
  Part stored = 0;
  std::size_t block = 0;  ///< only in staging
};

/// Memory in staging. Turn `written` writes it first, turn `read` reads it last.
struct Block {
  Bytes bytes = 0;
  std::int32_t written = 0, read = 0;
  Bytes offset = 0;
};

struct Placements {
  std::vector<std::vector<Placement>> of_layout;  ///< by layout of the route: the device's parts
  std::vector<Block> blocks;
};
Placements find_placements(const Route& route, Device device);

/// Gives the blocks offsets, so that blocks that are alive in the same turn do not overlap. Returns
/// the size of the memory for all of them.
Bytes arrange(const std::vector<Block*>& blocks);

}  // namespace weft::reshard::execute
