// SPDX-License-Identifier: Apache-2.0
// Assigns the parts of the target to devices, for callers that do not care which device gets which
// part, such as after a restart or for a new set of workers.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// Indexed by device: the device whose part of the target this device takes over. The assignment
/// maximizes the bytes that stay on their devices, summed over all arrays. This is a linear
/// assignment problem and takes O(devices^3) time. All problems must have the same devices and no
/// summands. If keeping its own part is among the best choices for a device, it keeps its own part.
std::vector<Device> best_labels(const std::vector<Problem>& problems);

/// The problem with its target assigned to devices by `labels`. If the target has a type, the mesh
/// of the type lists the devices in the new order.
Problem relabelled(const Problem& problem, const std::vector<Device>& labels);

}  // namespace weft::reshard
