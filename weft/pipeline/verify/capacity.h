// SPDX-License-Identifier: Apache-2.0
// Two computations that check_bound() (bound.h) uses for clusters of unequal devices.
// fastest_among() computes how fast the links within a set of devices can be at most. lacks_speed()
// asks whether the speed of all devices together is too low for a claimed step.
// docs/design/pipeline.md explains the method.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// Element r is an upper limit, in bytes per second: in every set of r devices, the slowest pair
/// has at most this bandwidth.
std::vector<std::int64_t> fastest_among(const PlanData& plan);

/// True proves that a step below `claimed` would need more speed than all devices together have.
/// False proves nothing.
bool lacks_speed(const PlanData& plan, Nanos claimed);

}  // namespace weft::pipeline::verify
