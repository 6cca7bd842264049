// SPDX-License-Identifier: Apache-2.0
// Checks the lower bound of a plan file: whether any plan, under any schedule, could take less
// time. A depth-first search goes through all plans and prunes with the bound of
// docs/design/pipeline.md. On up to ten devices it tries all sets of devices. Equal devices, and
// more than ten, are replaced by the same number of devices that are at least as good in every
// respect, which keeps the bound valid.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

struct BoundCheck {
  enum class Answer { kHolds, kFails, kTooMany } answer = Answer::kHolds;
  Nanos least = 0;           ///< a bound that is proved whatever the answer is
  std::int64_t visited = 0;  ///< partial plans that the search looked at
};

/// Checks a bound on plans whose stages share no devices. kHolds: no such plan takes less than
/// `claimed`. kFails: that is not proved, since the bound of some plan is less. kTooMany: the
/// search gave up, after 20 million partial plans or because there are more than 64 devices.
BoundCheck check_bound(const PlanData& plan, Nanos claimed);

/// A bound on all plans, also those whose stages share devices. It is the larger of two: all
/// devices are busy all the time; one micro-batch passes all layers, forward and back, on all
/// devices at once.
Nanos bound_of_all(const PlanData& plan);

}  // namespace weft::pipeline::verify
