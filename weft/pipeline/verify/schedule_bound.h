// SPDX-License-Identifier: Apache-2.0
// Computes a lower bound for all schedules of given stages. Micro-batches pass in order, so every
// op has a least time before its start and a least time after its end. Each device or link runs its
// ops one at a time. If ops may be interrupted, Jackson's preemptive schedule is the shortest
// schedule of these ops with these times. Its length is a lower bound of the step.
#pragma once

#include <vector>

#include "weft/base/units.h"

namespace weft::pipeline::verify {

struct BoundStage {
  Nanos forward = 0, input = 0, weight = 0, reduce = 0;
};

/// The messages from a stage to the next one (`there`) and back.
struct BoundChannel {
  Nanos there = 0, back = 0, latency_there = 0, latency_back = 0;
  std::vector<std::size_t> shared_there,
      shared_back;  ///< numbers of links that other channels use, too
};

/// `halves`: the gradients of weights may run separately from the gradients of inputs. Takes time
/// O(n log n) for n ops.
Nanos schedule_bound(const std::vector<BoundStage>& stages,
                     const std::vector<BoundChannel>& channels, std::int32_t micro_batches,
                     bool halves);

}  // namespace weft::pipeline::verify
