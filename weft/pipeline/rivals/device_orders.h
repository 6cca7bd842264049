// SPDX-License-Identifier: Apache-2.0
// Orders of devices in which those with good links stand side by side: stages are cut along them.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

/// SPP's recursive device ordering: cut the devices where the sum of bandwidths is least
/// (Stoer-Wagner), order both sides alike, one behind the other. Cubic, and worse where cuts take
/// off one device at a time.
std::vector<std::int32_t> recursive_order(const Cluster& cluster);

/// Joins the two rows of devices that the best link left joins, until there is one row, at those
/// ends that have the better link.
std::vector<std::int32_t> joined_order(const Cluster& cluster);

/// Both, and the devices as they are numbered; without repetitions. Large clusters go without
/// the first.
std::vector<std::vector<std::int32_t>> device_orders(const Cluster& cluster);

}  // namespace weft::pipeline
