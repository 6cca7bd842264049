// SPDX-License-Identifier: Apache-2.0
// What groups of devices and the ways between them cost, each worked out once: planners ask for few
// of them very often.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

class ClusterCosts {
 public:
  using Id = std::int32_t;

  /// Keeps a reference.
  explicit ClusterCosts(const Cluster& cluster) : cluster_(cluster) {}

  /// Of sorted devices. Numbers count up from 0.
  Id id(const std::vector<std::int32_t>& devices);
  const GroupCost& group(Id id) const { return known_[id].cost; }
  Bytes memory(Id id) const { return known_[id].memory; }  ///< smallest_memory()
  /// Directions of shared links that a ring over the devices crosses.
  const std::vector<LinkId>& crossed(Id id) const { return known_[id].crossed; }
  const ChannelCost& channel(Id from, Id to);

  /// The groups of stages, in the order of the first stage of each.
  void number(const std::vector<Id>& stages, std::vector<DeviceId>& groups);

 private:
  struct Known {
    std::vector<std::int32_t> devices;
    GroupCost cost;
    Bytes memory = 0;
    std::vector<LinkId> crossed;
    std::int64_t round = 0;  ///< of number(), in which `number` was given
    DeviceId number = 0;
  };
  struct Hash {
    std::size_t operator()(const std::vector<std::int32_t>& devices) const;
  };

  const Cluster& cluster_;
  std::unordered_map<std::vector<std::int32_t>, Id, Hash> ids_;
  std::deque<Known> known_;
  std::unordered_map<std::uint64_t, ChannelCost> channels_;
  std::int64_t round_ = 0;
};

}  // namespace weft::pipeline
