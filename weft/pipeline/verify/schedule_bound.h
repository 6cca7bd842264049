// SPDX-License-Identifier: Apache-2.0
// What no schedule of given stages can beat: micro-batches pass in order, so something must lie
// before and behind every op; a device or link with its ops between these takes at least as long as
// Jackson's preemptive rule says.
#pragma once

#include <vector>

#include "weft/base/units.h"

namespace weft::pipeline::verify {

struct BoundStage {
  Nanos forward = 0, input = 0, weight = 0, reduce = 0;
};

/// From a stage to the next and back.
struct BoundChannel {
  Nanos there = 0, back = 0, latency_there = 0, latency_back = 0;
  std::vector<std::size_t> shared_there, shared_back;  ///< numbers of links that others use, too
};

/// `halves`: gradients of weights may run apart from those of inputs.
Nanos schedule_bound(const std::vector<BoundStage>& stages,
                     const std::vector<BoundChannel>& channels, std::int32_t micro_batches,
                     bool halves);

}  // namespace weft::pipeline::verify
