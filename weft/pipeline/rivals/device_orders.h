// SPDX-License-Identifier: Apache-2.0
// Finds orders of the devices in which devices with fast links are neighbours. Planners assign
// stages to consecutive devices of such an order.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

/// SPP's recursive device ordering: split the devices by a minimum cut of the bandwidths
/// (Stoer-Wagner), order each side recursively, and concatenate the two. The time of one cut is
/// cubic in the number of devices. If each cut separates a single device, the total time grows with
/// the fourth power.
std::vector<std::int32_t> recursive_order(const Cluster& cluster);

/// A greedy order. At first each device is a separate sequence. The fastest link between two
/// sequences decides which two sequences are concatenated next. They are joined at those two ends
/// that have the best link between them. This repeats until one sequence is left.
std::vector<std::int32_t> joined_order(const Cluster& cluster);

/// The orders of the two functions above and the given numbering, without duplicates. The recursive
/// order is left out for large clusters, where it takes too long.
std::vector<std::vector<std::int32_t>> device_orders(const Cluster& cluster);

}  // namespace weft::pipeline
