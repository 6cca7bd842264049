// SPDX-License-Identifier: Apache-2.0
// A bound for unequal devices that have one stage each: no plan may use more speed than there is.
//
// Take a step of length T, and stage s, which o of it cannot work for the stages before it: the
// time of one micro-batch there and back on these. It must have a speed c, of r devices times the
// slowest of them, with
//   M path / c <= T - o   and   M work / c <= T - (forward part of o) - all-reduce(r),
// and adds path / c to the o of those behind it. A stage may take more speed than that, to add
// less. G groups have no more speed together than the devices in the order of their speed, cut into
// G stretches. Going through the layers with the least speed used so far, for each o and number of
// stages, tells whether a step of T may be possible; docs/design/pipeline.md has the details.
#pragma once

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {

/// Most speed that so many groups can have, by their number from 0 to that of the devices.
std::vector<double> most_speed(const std::vector<double>& speeds);

/// Layers up to which it is worth its time.
constexpr std::int32_t kMostCapacityLayers = 256;

/// The longest step, at least `low` and below `high`, that no plan can take, whatever its schedule.
/// `replicas[r - 1]` is what r devices can do at best, see best_groups(); `stages` as for
/// Lookahead.
Nanos capacity_bound(const Task& task, const std::vector<GroupCost>& replicas, std::int32_t stages,
                     Nanos low, Nanos high);

}  // namespace weft::pipeline
