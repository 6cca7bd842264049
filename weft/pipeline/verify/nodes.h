// SPDX-License-Identifier: Apache-2.0
// Builds the graph that check_bound() searches. The graph says which devices a stage may have after
// earlier stages have used up some devices, and which links lead to the devices of the next stage.
#pragma once

#include <vector>

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// Leads to the node of the next stage.
struct Edge {
  std::size_t to;
  double there, back;  ///< nanoseconds per byte, to the next stage and from it
  Nanos latency_there, latency_back;
  Nanos latency() const { return latency_there + latency_back; }
};

/// The devices of a stage, together with those that earlier stages have used up.
struct Node {
  std::vector<std::int32_t> devices;  ///< empty if only their number matters
  std::int32_t replicas = 1;
  double work = 0;    ///< times of layers are multiplied by this; 0: there is no such node
  double reduce = 0;  ///< nanoseconds per byte of an all-reduce
  Nanos reduce_latency = 0;
  Bytes memory = 0;    ///< 0: no limit
  bool first = false;  ///< the first stage may have these devices
  std::vector<Edge> next;
};

/// Up to ten unequal devices: the nodes are all sets of devices. More devices, or equal devices: a
/// node stands for a number of devices, and is at least as good in every respect as any set of this
/// number of devices.
std::vector<Node> device_nodes(const PlanData& plan);

}  // namespace weft::pipeline::verify
