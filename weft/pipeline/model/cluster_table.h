// SPDX-License-Identifier: Apache-2.0
// Builds a cluster from the link tables of `weft calibrate`, which timed messages between pairs of
// ranks.
#pragma once

#include <vector>

#include "weft/cost/links.h"
#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

/// Uses the first table that has pairs. The latency of a pair is the time of its smallest message.
/// The bandwidth of a pair follows from how much longer its largest message takes than its
/// smallest. A pair that was not measured gets the values of the opposite direction. If the
/// opposite direction was not measured either, the pair gets the values in the table's own rows,
/// which are medians over all pairs.
Result<Cluster> cluster_of(const std::vector<cost::LinkTable>& tables);

}  // namespace weft::pipeline
