// SPDX-License-Identifier: Apache-2.0
// Checks the lower bound of a plan file: whether any plan, under any schedule, could take less
// time. A depth-first search goes through all plans and prunes with the bound of
// docs/design/pipeline.md. On up to ten devices it tries all sets of devices. If the devices are
// equal, or if there are more than ten, the search does not try sets. Instead it gives each stage a
// number of idealized devices. They are at least as good in every respect as any real devices of
// this number, so the bound stays valid.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

struct BoundCheck {
  enum class Answer { kHolds, kFails, kTooMany } answer = Answer::kHolds;
  Nanos least = 0;           ///< a bound that is proved whatever the answer is
  std::int64_t visited = 0;  ///< partial plans that the search looked at
};

/// Checks a bound on plans whose stages share no devices. kHolds: no such plan takes less than
/// `claimed`. kFails: this could not be proved, because the bound of some plan is below `claimed`.
/// kTooMany: the search gave up, after 20 million partial plans or because there are more than 64
/// devices.
BoundCheck check_bound(const PlanData& plan, Nanos claimed);

/// A bound on all plans, also those whose stages share devices. It is the larger of two times: the
/// time if all devices are busy all the time, and the time of one micro-batch through all layers,
/// forward and back, with every layer on all devices at once.
Nanos bound_of_all(const PlanData& plan);

}  // namespace weft::pipeline::verify
