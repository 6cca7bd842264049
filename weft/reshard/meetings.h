// SPDX-License-Identifier: Apache-2.0
// What all exchanges of a plan share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/reshard/layout.h"

namespace weft::reshard {

/// How two cuts of one dimension meet, in numbers.
struct Overlap {
  std::vector<std::int64_t> common;  ///< by part of `to`: length that the part of `from` shares
  std::vector<std::int64_t> met;     ///< by slot of `to`: slots of `from` that share elements
  std::int64_t every_met = -1;       ///< where it is the same for all slots; else -1
};

/// What exchanges share: the nodes of devices, and which pieces of one dimension share elements,
/// remembered for pairs of cuts.
class Meetings {
 public:
  /// `node_of`: by device; empty where all devices are alike.
  explicit Meetings(std::vector<std::int32_t> node_of = {}) : node_of_(std::move(node_of)) {}

  const std::vector<std::int32_t>& node_of() const { return node_of_; }

  using CutPtr = std::shared_ptr<const Cut>;
  /// For each slot of `to`, the slots of `from` that it shares elements with.
  using Slots = std::vector<std::vector<std::int32_t>>;
  const Slots& between(const CutPtr& from, const CutPtr& to);
  /// Both of layouts with one part a device.
  const Overlap& overlap(const CutPtr& from, const CutPtr& to);

  /// Numbers of devices for whoever works on one round, kept so that they are not made for each.
  using Room = std::array<std::vector<std::int64_t>, 3>;
  Room& room() { return room_; }

 private:
  /// Strips of all slots, sorted.
  struct Pieces {
    struct Piece {
      Interval strip;
      std::int32_t slot;
    };
    CutPtr cut;  ///< kept, so that no other cut gets its address
    std::vector<Piece> list;
    /// Slots may overlap in layouts of free boxes: how far up any piece so far reaches.
    std::vector<std::int64_t> reach;
  };
  struct Pair {
    const Cut *from, *to;
    bool operator==(const Pair&) const = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      const auto a = reinterpret_cast<std::size_t>(pair.from) >> 4;
      return (a * 0x9E3779B97F4A7C15u) ^ (reinterpret_cast<std::size_t>(pair.to) >> 4);
    }
  };
  const Pieces& pieces_of(const CutPtr& cut);
  /// take(slot of `from`, length) for each strip of it that a slot of `to` meets.
  template <class Take>
  static void for_each_meeting(const Pieces& from, const Strips& slot, const Take& take);

  /// Where slots are single strips, and those of `from` lie at equal distances.
  static void compare(const Cut& from, const Cut& to, Overlap& overlap);
  /// All others: strip by strip.
  void sweep(const CutPtr& from, const Cut& to, Overlap& overlap);

  std::vector<std::int32_t> node_of_;
  std::unordered_map<const Cut*, Pieces> pieces_;
  std::unordered_map<Pair, Slots, PairHash> slots_;
  struct KnownOverlap {
    CutPtr from, to;  ///< kept, so that no other cut gets their address
    Overlap overlap;
  };
  std::unordered_map<Pair, KnownOverlap, PairHash> overlaps_;
  Room room_;
  /// What the slot at hand shares with each of `from`; what is not of this slot counts as nothing.
  struct Shared {
    std::int32_t slot = -1;
    std::int64_t length = 0;
  };
  std::vector<Shared> shared_;
  std::vector<std::int32_t> first_, order_;  ///< parts of each slot, one slot behind the other
};

}  // namespace weft::reshard
