// SPDX-License-Identifier: Apache-2.0
// What a plan says of itself for people: milliseconds, bytes, the name of its order. All of it must
// follow from what the checker has worked out.
#pragma once

#include "weft/pipeline/verify/plan_data.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {

/// What a device of each group holds at most.
std::vector<Bytes> held_by_groups(const PlanData& plan, const Replayed& replayed);

/// One sentence on the first figure that is not what it should be; empty where all are right.
std::string wrong_figure(const PlanData& plan, const std::vector<Bytes>& held);

/// The same on the name of the order. GPipe and the orders that take turns after so many forwards
/// (1f1b, 1f1b-2, pe) are told by their shape; of others only the names are known.
std::string wrong_schedule(const PlanData& plan);

}  // namespace weft::pipeline::verify
