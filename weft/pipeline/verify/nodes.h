// SPDX-License-Identifier: Apache-2.0
// Which devices a stage may have, after those of the stages before it: what the check of a bound
// goes through.
#pragma once

#include <vector>

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// To the devices of the next stage.
struct Edge {
  std::size_t to;
  double there, back;  ///< nanoseconds a byte
  Nanos latency_there, latency_back;
  Nanos latency() const { return latency_there + latency_back; }
};

/// A stage's devices, after others have been used up.
struct Node {
  std::vector<std::int32_t> devices;  ///< empty where only their number counts
  std::int32_t replicas = 1;
  double work = 0, reduce = 0;
  Nanos reduce_latency = 0;
  Bytes memory = 0;  ///< 0: no limit
  bool first = false;
  std::vector<Edge> next;
};

/// All sets of up to ten devices; of more, or of equal ones, their numbers, each at least as good
/// in every respect as any set of so many.
std::vector<Node> device_nodes(const PlanData& plan);

}  // namespace weft::pipeline::verify
