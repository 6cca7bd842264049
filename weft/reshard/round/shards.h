// SPDX-License-Identifier: Apache-2.0
// The distinct parts of a layout, each with all who hold it and all who want some of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

/// A region of one group of a layout.
struct Shard {
  Part part = 0;                ///< the first that has this region
  std::vector<Part> parts;      ///< all that have it
  std::vector<Device> holders;  ///< sorted
  struct Receiver {
    std::int64_t elements;
    Part part;  ///< of the next layout
    bool add;
  };
  std::vector<Receiver> receivers;
};

/// Group, then the slot in each dimension.
using ShardKey = std::vector<std::int32_t>;

class Shards {
 public:
  explicit Shards(const Layout& layout);

  /// nullptr: nobody holds it, as may be in layouts that are no grid.
  Shard* find(const ShardKey& key);
  /// In the order of their first parts.
  std::vector<Shard>& list() { return list_; }

 private:
  struct KeyHash {
    std::size_t operator()(const ShardKey& key) const;
  };
  std::size_t index_of(const ShardKey& key) const;
  std::int32_t& place_of(const ShardKey& key);

  std::vector<std::size_t> radix_;   ///< slots in each dimension
  std::vector<std::int32_t> dense_;  ///< the shard of each combination; empty: there are too many
  std::unordered_map<ShardKey, std::int32_t, KeyHash> sparse_;  ///< takes its place then
  std::vector<Shard> list_;
};

}  // namespace weft::reshard
