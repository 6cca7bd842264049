// SPDX-License-Identifier: Apache-2.0
// Computes, for each r, the bandwidth of the best-connected r devices: the largest b such that some
// r devices have at least b between each pair. No all-reduce of a stage with r replicas can be
// faster than this bandwidth allows.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

constexpr std::int32_t kMostInClique = 64;  ///< devices; a set of them is one 64-bit word

/// Entry r is the largest bandwidth that some r devices have between all of their pairs in both
/// directions; 0 if every choice of r devices has a pair without a link. Entries 0 and 1 have the
/// largest value of the type, because no pair limits them. The search for cliques takes exponential
/// time, so it gives up after a fixed effort. The entry may then be too large, but it is never too
/// small. So bounds that use it stay valid.
std::vector<std::int64_t> clique_bandwidths(const Cluster& cluster);

}  // namespace weft::pipeline
