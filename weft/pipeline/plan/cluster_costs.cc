// SPDX-License-Identifier: Apache-2.0
// A hash map turns the devices of a group into a small id. All costs are looked up by id. Channels
// are keyed by a pair of ids.
#include "weft/pipeline/plan/cluster_costs.h"

namespace weft::pipeline {

std::size_t ClusterCosts::Hash::operator()(const std::vector<std::int32_t>& devices) const {
  std::uint64_t hash = devices.size();
  for (const std::int32_t device : devices) {
    hash = (hash ^ static_cast<std::uint64_t>(device)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

ClusterCosts::Id ClusterCosts::id(const std::vector<std::int32_t>& devices) {
  const auto [found, is_new] = ids_.try_emplace(devices, static_cast<Id>(known_.size()));
  if (is_new) {
    known_.push_back({devices, group_cost(cluster_, devices), smallest_memory(cluster_, devices),
                      crossed_inside(cluster_, devices), 0, 0});
  }
  return found->second;
}

const ChannelCost& ClusterCosts::channel(Id from, Id to) {
  const auto key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
  const auto [found, is_new] = channels_.try_emplace(key);
  if (is_new) found->second = channel_cost(cluster_, known_[from].devices, known_[to].devices);
  return found->second;
}

void ClusterCosts::number(const std::vector<Id>& stages, std::vector<DeviceId>& groups) {
  // A new round number invalidates the numbers of the previous call without a pass over all groups.
  ++round_;
  groups.resize(stages.size());
  DeviceId count = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Known& known = known_[stages[s]];
    if (known.round != round_) {
      known.round = round_;
      known.number = count++;
    }
    groups[s] = known.number;
  }
}

}  // namespace weft::pipeline
