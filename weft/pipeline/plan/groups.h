// SPDX-License-Identifier: Apache-2.0
// Which devices may form a stage, and which the next: what plans are looked for in. Groups stand
// for positions: (0..3, then 4..5 ...) along an order of the devices, or any sets of them where
// there are few.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

struct GroupEdge {
  std::int32_t to = 0;
  double there = 0, back = 0;  ///< nanoseconds a byte, slowest pair and shared links
  Nanos latency = 0;           ///< of both directions together
};

struct Group {
  std::vector<std::int32_t> devices;  ///< empty where groups only stand for a number of devices
  std::int32_t replicas = 1;
  GroupCost cost;
  Bytes memory = 0;    ///< of the smallest device; 0: no limit
  bool first = false;  ///< may be the first stage
  std::vector<GroupEdge> next;
};

using GroupGraph = std::vector<Group>;

struct GroupLimits {
  std::int32_t replicas = 0;  ///< of a stage, at most; 0: no limit
  std::int32_t unit = 1;      ///< stages have multiples of so many devices
  std::int32_t sizes = 0;     ///< and at most so many units; 0: no limit
};

/// Stretches of an order of devices.
GroupGraph ordered_groups(const Cluster& cluster, const std::vector<std::int32_t>& order,
                          const GroupLimits& limits);
/// All sets of devices, for at most kMostFree of them: 3^n groups.
constexpr std::int32_t kMostFree = 10;
GroupGraph free_groups(const Cluster& cluster, const GroupLimits& limits);
/// No plan can have better devices and links: each group of r has the speed of the r-th fastest
/// device, between its own devices the links of the best r and to others the best that so many can
/// share. For bounds; at most kMostInClique devices.
GroupGraph best_groups(const Cluster& cluster, const GroupLimits& limits);

/// Whether all devices and all pairs are alike, so that their order does not matter.
bool all_alike(const Cluster& cluster);

}  // namespace weft::pipeline
