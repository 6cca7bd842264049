// SPDX-License-Identifier: Apache-2.0
// Remembers how the cuts of two layouts overlap. A search prices thousands of rounds, and the
// layouts of these rounds share most of their cuts. So each pair of cuts is compared only once.
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

/// The overlap of two cuts of one dimension. All lengths count elements of that dimension.
struct Overlap {
  /// Indexed by part of `to`: the length that is both in this part's piece and in the piece of the
  /// same device in `from`.
  std::vector<std::int64_t> common;
  /// How many slots of `from` a slot of `to` overlaps, if this number is the same for all slots of
  /// `to`; -1 otherwise.
  std::int64_t uniform_count = -1;
  /// Indexed by part of `to`: how many slots of `from` its slot overlaps. Empty if uniform_count is
  /// not -1.
  std::vector<std::int64_t> count_of;
};

/// How a cut overlaps with the parts that the devices of one node hold together in another cut. The
/// slots of each cut must be disjoint.
struct NodeOverlap {
  /// Indexed by part of `to`: the length of its piece that some device of its node holds in `from`.
  std::vector<std::int64_t> near;
  /// Indexed by node: the length that its devices hold in `from` and also in `to`.
  std::vector<std::int64_t> both;
};

/// The nodes of devices, and the overlaps of all pairs of cuts that callers have asked for. Keeps
/// these cuts alive. One object must be used by only one thread.
class OverlapCache {
 public:
  /// `node_of` is indexed by device; it is empty if nodes do not matter.
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
  /// Both cuts must be of layouts with one part per device.
  const Overlap& overlap(const CutPtr& from, const CutPtr& to);
  /// Like overlap(), but for nodes instead of devices. node_of() must not be empty.
  const NodeOverlap& overlap_in_nodes(const CutPtr& from, const CutPtr& to);
  /// Indexed by node: the length that its devices hold together in `cut`.
  const std::vector<std::int64_t>& held_in_nodes(const CutPtr& cut) { return node_slots(cut).held; }

  /// Scratch memory with one number per device, for a caller that prices one round. It is kept here
  /// so that a search does not allocate it for every round.
  using Scratch = std::array<std::vector<std::int64_t>, 3>;
  Scratch& scratch() { return scratch_; }

 private:
  /// The strips of all slots of a cut, sorted by their start, for binary search.
  struct Pieces {
    struct Piece {
      Interval strip;
      std::int32_t slot;
    };
    CutPtr cut;  ///< kept alive, so that its address stays a valid key of the cache
    std::vector<Piece> list;
    /// Indexed by piece: the largest end of this and all earlier pieces. The ends themselves may be
    /// unsorted, because slots may overlap in layouts of arbitrary boxes.
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
  /// Calls take(slot of `from`, length) for each strip of `from` that overlaps `slot` of `to`.
  template <class Take>
  static void for_each_overlap(const Pieces& from, const Strips& slot, const Take& take);

  /// Fills the overlap of two cuts whose slots are single strips: part by part.
  void compare_single_strips(const CutPtr& from, const Cut& to, Overlap& overlap);
  /// Fills the overlap of any two cuts: strip by strip.
  void sweep_strips(const CutPtr& from, const Cut& to, Overlap& overlap);

  /// The distinct slots that the devices of each node hold.
  struct NodeSlots {
    CutPtr cut;                       ///< kept alive, see Pieces
    std::vector<std::int32_t> slots;  ///< of all nodes, in order of nodes; empty slots left out
    std::vector<std::int32_t> first;  ///< indexed by node: where its slots begin in `slots`
    std::vector<Strips> together;     ///< indexed by node: the union of its slots
    std::vector<std::int64_t> held;   ///< indexed by node: the length of that union
    std::span<const std::int32_t> of(std::int32_t node) const {
      return {slots.data() + first[node], slots.data() + first[node + 1]};
    }
  };
  const NodeSlots& node_slots(const CutPtr& cut);

  std::vector<std::int32_t> node_of_;
  std::vector<std::int32_t>
      first_of_node_;            ///< indexed by node: where its devices begin in by_node_
  std::vector<Device> by_node_;  ///< devices, sorted by node
  std::unordered_map<const Cut*, NodeSlots> node_slots_;
  std::unordered_map<Pair, NodeOverlap, PairHash>
      node_overlaps_;  ///< node_slots_ keeps the cuts alive
  std::unordered_map<const Cut*, Pieces> pieces_;
  std::unordered_map<Pair, Slots, PairHash> slots_;
  struct KnownOverlap {
    CutPtr from, to;  ///< kept alive, see Pieces
    Overlap overlap;
  };
  std::unordered_map<Pair, KnownOverlap, PairHash> overlaps_;
  Scratch scratch_;
  /// The length that the current slot of `to` shares with each slot of `from`. An entry whose
  /// `slot` is not the current slot is left from an earlier slot and counts as 0. So nothing has to
  /// be cleared between slots.
  struct Shared {
    std::int32_t slot = -1;
    std::int64_t length = 0;
  };
  std::vector<Shared> shared_;
  std::vector<std::int64_t> counts_;  ///< indexed by slot of `to`: slots of `from` that it overlaps
  std::vector<std::int32_t> seen_in_;        ///< indexed by slot: the last node that held it
  std::vector<std::int32_t> first_, order_;  ///< parts sorted by slot, and where each slot begins
};

}  // namespace weft::reshard
