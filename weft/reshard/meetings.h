// SPDX-License-Identifier: Apache-2.0
// What all exchanges of a plan share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "weft/reshard/layout.h"

namespace weft::reshard {

/// What exchanges share: the nodes of devices, and which pieces of one dimension share elements,
/// remembered for pairs of cuts.
class Meetings {
 public:
  /// `node_of`: by device; empty where all devices are alike.
  explicit Meetings(std::vector<std::int32_t> node_of = {}) : node_of_(std::move(node_of)) {}

  const std::vector<std::int32_t>& node_of() const { return node_of_; }

  /// For each slot of `to`, the slots of `from` that it shares elements with.
  using Slots = std::vector<std::vector<std::int32_t>>;
  const Slots& between(const std::shared_ptr<const Cut>& from,
                       const std::shared_ptr<const Cut>& to);

 private:
  struct Known {
    std::shared_ptr<const Cut> from, to;  ///< kept, so that no other cut gets their address
    Slots slots;
  };
  std::vector<std::int32_t> node_of_;
  std::map<std::pair<const Cut*, const Cut*>, Known> known_;
};

}  // namespace weft::reshard
