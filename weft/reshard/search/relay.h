// SPDX-License-Identifier: Apache-2.0
// Finds relay plans, which have as few messages as possible. In every round, each device receives
// from one other device. It may receive elements that are meant for third devices and send them on
// later. If an array divides evenly, the search over types finds such plans by moving one digit at
// a time. If an array does not divide evenly, moving digits would make some device hold too much
// between rounds. A relay plan is not tied to digits: any device may receive from any other device.
// A local search changes the senders until everything fits into memory.
#pragma once

#include <optional>

#include "weft/reshard/plan.h"

namespace weft::reshard {

/// A relay plan that is faster than `upper_bound` and in which no device holds more than `memory`
/// elements; nullopt if none was found. Only for arrays without copies and summands, on at most 16
/// devices and without nodes. Takes a few milliseconds. Deterministic: the random search has a
/// fixed seed and a fixed number of trials.
std::optional<Plan> relay_plan(const Problem& problem, const Link& link, std::int64_t memory,
                               Picos upper_bound, OverlapCache& overlaps);

}  // namespace weft::reshard
