// SPDX-License-Identifier: Apache-2.0
// Checks those values of a plan file that exist only for people to read: milliseconds, bytes, the
// name of the schedule. All of them must follow from the exact values in the file.
#pragma once

#include "weft/pipeline/verify/plan_data.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {

/// Per group: the most memory that one of its devices holds at any time.
std::vector<Bytes> held_by_groups(const PlanData& plan, const Replayed& replayed);

/// One sentence about the first wrong figure; empty if all are right.
std::string wrong_figure(const PlanData& plan, const std::vector<Bytes>& held);

/// One sentence if the name of the schedule does not fit its orders; empty if it does. gpipe, 1f1b,
/// 1f1b-2 and pe are recognized by the shape of the orders. The other known names are accepted for
/// any orders.
std::string wrong_schedule(const PlanData& plan);

}  // namespace weft::pipeline::verify
