// SPDX-License-Identifier: Apache-2.0
// What all exchanges of a plan share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

/// How two cuts of one dimension meet, in numbers.
struct Overlap {
  std::vector<std::int64_t> common;  ///< by part of `to`: length that the part of `from` shares
  std::int64_t uniform_count = -1;  ///< slots of `from` that any slot of `to` meets; -1: it differs
  std::vector<std::int64_t> count_of;  ///< by part of `to`, where it differs; else empty
};

/// The same in nodes, of cuts whose slots are disjoint.
struct NodeOverlap {
  std::vector<std::int64_t> near;  ///< by part of `to`: length that its node has of `from`
  std::vector<std::int64_t> both;  ///< by node: length that it has of both
};

/// What exchanges share: the nodes of devices, and which pieces of one dimension share elements,
/// remembered for pairs of cuts.
class OverlapCache {
 public:
  /// `node_of`: by device; empty where all devices are alike.
  explicit OverlapCache(std::vector<std::int32_t> node_of = {});

  const std::vector<std::int32_t>& node_of() const { return node_of_; }
  std::int32_t nodes() const { return static_cast<std::int32_t>(first_of_node_.size()) - 1; }
  std::span<const Device> devices_of(std::int32_t node) const {
    return {by_node_.data() + first_of_node_[node], by_node_.data() + first_of_node_[node + 1]};
  }

  using CutPtr = std::shared_ptr<const Cut>;
  /// For each slot of `to`, the slots of `from` that it shares elements with.
  using Slots = std::vector<std::vector<std::int32_t>>;
  const Slots& overlapping_slots(const CutPtr& from, const CutPtr& to);
  /// Both of layouts with one part a device.
  const Overlap& overlap(const CutPtr& from, const CutPtr& to);
  /// Likewise, where there are nodes.
  const NodeOverlap& overlap_in_nodes(const CutPtr& from, const CutPtr& to);
  /// By node, the length of what its devices hold.
  const std::vector<std::int64_t>& held_in_nodes(const CutPtr& cut) { return node_slots(cut).held; }

  /// Numbers of devices for whoever works on one round, kept so that they are not made for each.
  using Scratch = std::array<std::vector<std::int64_t>, 3>;
  Scratch& scratch() { return scratch_; }

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
  static void for_each_overlap(const Pieces& from, const Strips& slot, const Take& take);

  /// Where slots are single strips.
  void compare_single_strips(const CutPtr& from, const Cut& to, Overlap& overlap);
  /// All others: strip by strip.
  void sweep_strips(const CutPtr& from, const Cut& to, Overlap& overlap);

  /// What the devices of each node have of a cut, each slot once.
  struct NodeSlots {
    CutPtr cut;                       ///< kept, see Pieces
    std::vector<std::int32_t> slots;  ///< one node behind the other, without empty ones
    std::vector<std::int32_t> first;  ///< of a node, among slots
    std::vector<Strips> together;     ///< by node
    std::vector<std::int64_t> held;   ///< by node: the length of that
    std::span<const std::int32_t> of(std::int32_t node) const {
      return {slots.data() + first[node], slots.data() + first[node + 1]};
    }
  };
  const NodeSlots& node_slots(const CutPtr& cut);

  std::vector<std::int32_t> node_of_;
  std::vector<std::int32_t> first_of_node_;  ///< among by_node_
  std::vector<Device> by_node_;
  std::unordered_map<const Cut*, NodeSlots> node_slots_;
  std::unordered_map<Pair, NodeOverlap, PairHash> node_overlaps_;  ///< node_slots_ keep the cuts
  std::unordered_map<const Cut*, Pieces> pieces_;
  std::unordered_map<Pair, Slots, PairHash> slots_;
  struct KnownOverlap {
    CutPtr from, to;  ///< kept, so that no other cut gets their address
    Overlap overlap;
  };
  std::unordered_map<Pair, KnownOverlap, PairHash> overlaps_;
  Scratch scratch_;
  /// What the slot at hand shares with each of `from`; what is not of this slot counts as nothing.
  struct Shared {
    std::int32_t slot = -1;
    std::int64_t length = 0;
  };
  std::vector<Shared> shared_;
  std::vector<std::int64_t> counts_;            ///< by slot of `to`: slots of `from` that it meets
  std::vector<std::int32_t> seen_in_;        ///< by slot: the last node that had it
  std::vector<std::int32_t> first_, order_;  ///< parts of each slot, one slot behind the other
};

}  // namespace weft::reshard
