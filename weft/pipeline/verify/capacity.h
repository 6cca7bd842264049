// SPDX-License-Identifier: Apache-2.0
// Two facts about unequal devices that the check of a bound uses: the fastest links that any set of
// devices can have, and whether all devices together are fast enough for a claimed step. The theory
// is in docs/design/pipeline.md.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// Element r: no set of r devices has more than this bandwidth, in bytes per second, between all of
/// its pairs.
std::vector<std::int64_t> fastest_among(const PlanData& plan);

/// True proves that a step below `claimed` would need more speed than all devices together have.
/// False proves nothing.
bool lacks_speed(const PlanData& plan, Nanos claimed);

}  // namespace weft::pipeline::verify
