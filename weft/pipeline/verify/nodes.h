// SPDX-License-Identifier: Apache-2.0
// The graph that the check of a bound searches: which devices a stage may have, given the devices
// that earlier stages have used up, and the links to the devices of the next stage.
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

/// All sets of up to ten devices. For more devices, or equal ones: one node per number of devices,
/// at least as good in every respect as any set of that many.
std::vector<Node> device_nodes(const PlanData& plan);

}  // namespace weft::pipeline::verify
