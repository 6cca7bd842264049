// SPDX-License-Identifier: Apache-2.0
// Orders of the devices in which devices with fast links are neighbours. Planners assign stages to
// consecutive devices of such an order.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

/// SPP's recursive device ordering: split the devices by a minimum cut of the bandwidths
/// (Stoer-Wagner), order each side recursively, and concatenate the two. A cut takes cubic time; if
/// each cut separates a single device, the total time has a fourth power.
std::vector<std::int32_t> recursive_order(const Cluster& cluster);

/// A greedy order: starts with each device as a sequence of its own and repeatedly concatenates the
/// two sequences that the fastest remaining link joins, at the ends with the better link between
/// them.
std::vector<std::int32_t> joined_order(const Cluster& cluster);

/// Both orders and the given numbering, without duplicates. The recursive order is left out for
/// large clusters, where it takes too long.
std::vector<std::vector<std::int32_t>> device_orders(const Cluster& cluster);

}  // namespace weft::pipeline
