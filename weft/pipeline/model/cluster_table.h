// SPDX-License-Identifier: Apache-2.0
// A cluster as weft calibrate measured it: messages between each pair of ranks.
#pragma once

#include <vector>

#include "weft/cost/links.h"
#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

/// Of the first table with pairs. Latency is the time of the smallest message, bandwidth what the
/// largest adds to it. A pair that was not measured is as the other direction, or as the middle of
/// all.
Result<Cluster> cluster_of(const std::vector<cost::LinkTable>& tables);

}  // namespace weft::pipeline
