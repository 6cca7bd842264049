// SPDX-License-Identifier: Apache-2.0
// Computes a lower bound of the step for devices of unequal speed with one stage per device. The
// reason for the bound is that all stages together cannot use more speed than the devices have.
//
// Assume a step of length T with M micro-batches. On a device of speed 1, the layers of a stage
// take the time `path` per micro-batch for the forward and the gradient of the input. The time
// `work` also includes the gradients of the weights. Stage s idles for a time o: until the first
// micro-batch has passed forward through the stages before s, and while the last micro-batch passes
// backward through them. The speed c of its group, r devices times the speed of the slowest, must
// therefore satisfy
//   M path / c <= T - o   and   M work / c <= T - (forward part of o) - all-reduce(r),
// and the stage adds path / c to the o of the stages behind it. A stage may use more speed than it
// needs in order to add less to o.
//
// The speed of G groups together is limited, too. The groups have the most speed if the devices are
// sorted by speed and cut into G ranges.
//
// A dynamic program over the layers keeps the least speed used so far for each o and number of
// stages. If even this speed exceeds the speed that the groups can have, no step of length T
// exists. docs/design/pipeline.md has the details.
#pragma once

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {

/// The most speed that g groups can have together, for g from 0 to the number of devices.
std::vector<double> most_speed(const std::vector<double>& speeds);

/// The most layers for which the bound is worth its time. This time grows with the square of the
/// number of layers.
constexpr std::int32_t kMostCapacityLayers = 256;

/// Returns a lower bound of the step over all plans and schedules, found by bisection between
/// `low`, a known bound, and `high`. `replicas[r - 1]` is the best cost that a group of r devices
/// can have (see ideal_groups()); `stages` is the required number of stages, or 0 for any.
Nanos capacity_bound(const Task& task, const std::vector<GroupCost>& replicas, std::int32_t stages,
                     Nanos low, Nanos high);

}  // namespace weft::pipeline
