// SPDX-License-Identifier: Apache-2.0
// Estimates the host time of launches. Private to weft/predict.
#pragma once

#include <set>

#include "weft/graph/edit.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// The host time of the launches of collectives. The work right before a launch (copies into a
/// bucket, calls around the launch) belongs to the launch, up to twice what is usual. If the work
/// is longer, the host did something else in the rest of the time.
class LaunchCost {
 public:
  LaunchCost(const graph::Graph& graph, const std::set<graph::OpId>& launches);

  /// Returns the host time of one launch: its duration and the work before it.
  Nanos of(graph::OpId launch) const;
  /// Makes a launch take no host time.
  void remove(graph::OpId launch, graph::Edit& edit) const;

 private:
  const graph::Graph* graph_;
  Nanos most_before_;  ///< longest work before a launch that belongs to the launch
};

}  // namespace weft::predict
