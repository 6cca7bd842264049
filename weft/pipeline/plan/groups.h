// SPDX-License-Identifier: Apache-2.0
// Builds the graph that a plan search walks through. A node is a group of devices that may run a
// stage, at a certain position among all devices. The edges of a node lead to the groups that may
// run the next stage. A path is thus a sequence of disjoint groups. There are three ways to build
// the graph: along one order of the devices, from all sets of devices, or as an idealized cluster
// for bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

struct GroupEdge {
  std::int32_t to = 0;  ///< index of the next group in the GroupGraph
  /// Nanoseconds per byte in each direction, of the slowest pair or shared link.
  double forward = 0, backward = 0;
  Nanos latency = 0;  ///< sum of both directions
};

struct Group {
  std::vector<std::int32_t> devices;  ///< empty in ideal_groups(), where only the number counts
  std::int32_t replicas = 1;          ///< number of devices
  GroupCost cost;
  Bytes memory = 0;    ///< of the device with the least memory; 0: no limit
  bool first = false;  ///< whether the group may run the first stage
  std::vector<GroupEdge> next;
};

using GroupGraph = std::vector<Group>;

struct GroupLimits {
  std::int32_t replicas = 0;  ///< most devices per stage; 0: no limit
  std::int32_t unit = 1;      ///< the number of devices of a stage is a multiple of this
  std::int32_t sizes = 0;     ///< most units per stage; 0: no limit
};

/// Groups are consecutive devices of the given order. With n devices and at most r devices per
/// stage, there are about n r groups.
GroupGraph ordered_groups(const Cluster& cluster, const std::vector<std::int32_t>& order,
                          const GroupLimits& limits);
/// Groups are all sets of devices, in any order. A node stands for a set and for the devices that
/// earlier stages use, so n devices have 3^n nodes and 4^n edges; n is at most kMostForSets.
constexpr std::int32_t kMostForSets = 10;
GroupGraph set_groups(const Cluster& cluster, const GroupLimits& limits);
/// An idealized cluster for lower bounds; no plan can have better devices and links. Each group of
/// r devices has the speed of the r-th fastest device, the internal links of the fastest clique of
/// r devices, and to other groups the best links that any r devices have. The cluster may have at
/// most kMostInClique devices.
GroupGraph ideal_groups(const Cluster& cluster, const GroupLimits& limits);

/// Whether all devices are equal and all pairs have equal links, so that their order is irrelevant.
bool all_alike(const Cluster& cluster);

}  // namespace weft::pipeline
