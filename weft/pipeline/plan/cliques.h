// SPDX-License-Identifier: Apache-2.0
// How fast all links between some r devices can be at once: what gradients of r replicas are summed
// over at best.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

constexpr std::int32_t kMostInClique = 64;  ///< devices

/// By r from 0 to the number of devices, at most kMostInClique: no r devices have a bandwidth above
/// this between all of their pairs, both ways; 0 where some pair of any r has none. r below 2 have
/// the largest number. Exact, but for graphs so hard that a search gives up, and says more.
std::vector<std::int64_t> clique_bandwidths(const Cluster& cluster);

}  // namespace weft::pipeline
