// SPDX-License-Identifier: Apache-2.0
// The bound for unequal devices of docs/design/pipeline.md, by the speed that there is, and the
// links between the best devices.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// By r from 0: no r devices have more bytes a second between all of their pairs.
std::vector<std::int64_t> fastest_among(const PlanData& plan);

/// Whether a step below `claimed` would need more speed than all devices have. False says nothing.
bool lacks_speed(const PlanData& plan, Nanos claimed);

}  // namespace weft::pipeline::verify
