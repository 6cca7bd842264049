// SPDX-License-Identifier: Apache-2.0
// Is there no plan that could take less than a bound of a plan file, whatever its schedule? Goes
// through all plans by depth-first search, leaving out those that cannot, by the bound of
// docs/design/pipeline.md. Sets of up to ten devices are all tried; more devices, or equal ones,
// are replaced by as many that are at least as good in every respect.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

struct BoundCheck {
  enum class Answer { kHolds, kFails, kTooMany } answer = Answer::kHolds;
  Nanos least = 0;           ///< what is certain in any case
  std::int64_t visited = 0;  ///< parts of plans
};

/// Of plans with one stage a device.
BoundCheck check_bound(const PlanData& plan, Nanos claimed);

/// Of plans whose stages may share devices: all devices busy all the time, and one micro-batch
/// there and back over all devices at once.
Nanos bound_of_all(const PlanData& plan);

}  // namespace weft::pipeline::verify
