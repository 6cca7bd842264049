// SPDX-License-Identifier: Apache-2.0
// Which device shall play which part of the target, where that is free to choose: after a restart,
// or for a new set of workers.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// For each device the one whose part of the target it takes, so that the devices that have a part
/// of the target keep as many elements as possible, over all arrays together: a linear assignment
/// on what each holds of what each shall hold, O(devices^3). All problems have the same devices;
/// none has summands. Ties go to the device itself.
std::vector<Device> best_labels(const std::vector<Problem>& problems);

/// The problem with the parts of its target dealt out anew. Its target no longer has a type over a
/// mesh: devices are not in the order of positions.
Problem relabelled(const Problem& problem, const std::vector<Device>& labels);

}  // namespace weft::reshard
