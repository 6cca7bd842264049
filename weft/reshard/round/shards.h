// SPDX-License-Identifier: Apache-2.0
// Lists the distinct parts of a layout (shards). For each shard, lists the devices that hold it and
// the devices that need some of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

/// A distinct part of a layout: a region of one group of summands.
struct Shard {
  Part part = 0;                ///< the first part with this region and group
  std::vector<Part> parts;      ///< all parts with this region and group
  std::vector<Device> holders;  ///< sorted
  struct Receiver {
    std::int64_t elements;
    Part part;  ///< the receiver's part, in the next layout
    bool add;   ///< see Piece::add
  };
  std::vector<Receiver> receivers;
};

/// The group, then the slot in each dimension.
using ShardKey = std::vector<std::int32_t>;

class Shards {
 public:
  explicit Shards(const Layout& layout);

  /// The shard with this key; nullptr if no device holds it. This is possible only in layouts that
  /// are not grids.
  Shard* find(const ShardKey& key);
  /// All shards, in the order of their first parts.
  std::vector<Shard>& list() { return list_; }

 private:
  struct KeyHash {
    std::size_t operator()(const ShardKey& key) const;
  };
  std::size_t index_of(const ShardKey& key) const;
  std::int32_t& place_of(const ShardKey& key);

  std::vector<std::size_t> radix_;  ///< slots in each dimension
  /// Indexed by combination of group and slots: its shard, or -1. Empty if there are too many
  /// combinations; then sparse_ is used.
  std::vector<std::int32_t> dense_;
  std::unordered_map<ShardKey, std::int32_t, KeyHash> sparse_;
  std::vector<Shard> list_;
};

}  // namespace weft::reshard
