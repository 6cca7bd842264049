// SPDX-License-Identifier: Apache-2.0
// Caches the costs of groups of devices and of the channels between them. Planners ask for the same
// few groups very often.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

class ClusterCosts {
 public:
  using Id = std::int32_t;

  /// Keeps a reference to the cluster.
  explicit ClusterCosts(const Cluster& cluster) : cluster_(cluster) {}

  /// The id of a group, given by its sorted devices. Ids count up from 0.
  Id id(const std::vector<std::int32_t>& devices);
  const GroupCost& group(Id id) const { return known_[id].cost; }
  Bytes memory(Id id) const { return known_[id].memory; }  ///< smallest_memory()
  /// The directions of shared links that a ring over the devices crosses, see crossed_inside().
  const std::vector<LinkId>& crossed(Id id) const { return known_[id].crossed; }
  const ChannelCost& channel(Id from, Id to);

  /// Numbers the groups of a plan in the order of their first stages: groups[s] is the number of
  /// the group with the id stages[s].
  void number(const std::vector<Id>& stages, std::vector<DeviceId>& groups);

 private:
  struct Known {
    std::vector<std::int32_t> devices;
    GroupCost cost;
    Bytes memory = 0;
    std::vector<LinkId> crossed;
    std::int64_t round = 0;  ///< the call of number() that set `number`
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
