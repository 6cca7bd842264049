// SPDX-License-Identifier: Apache-2.0
// Lookups that the passes of edits.h and packs.h share: launches of device ops, edges by source,
// and the compute that was launched before a given time. Private to weft/predict.
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::predict {

struct OutEdge {
  graph::OpId destination;
  graph::EdgeId edge;
};

/// Built in O(n log n); keeps no reference to the graph.
class LaunchOrder {
 public:
  explicit LaunchOrder(const graph::Graph& graph);

  /// The host call that launched a device op; kNoId if it was not recorded.
  graph::OpId launch_of(graph::OpId device_op) const { return launch_of_[device_op]; }
  std::vector<OutEdge> out_edges(graph::OpId op) const {
    return {out_.begin() + first_out_[op], out_.begin() + first_out_[op + 1]};
  }
  /// The last kernel or copy that `rank` had launched by recorded time `time`; kNoId if none.
  graph::OpId last_compute(std::int32_t rank, Nanos time) const;

 private:
  struct Launched {
    Nanos time;  ///< recorded start of the launch
    graph::OpId op;
  };
  std::vector<graph::OpId> launch_of_;
  std::vector<std::ptrdiff_t> first_out_;
  std::vector<OutEdge> out_;
  std::vector<std::vector<Launched>> compute_;  ///< by rank, sorted by time of launch
};

}  // namespace weft::predict
