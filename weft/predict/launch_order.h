// SPDX-License-Identifier: Apache-2.0
// Finds the launches of device ops, the edges that leave an op, and the compute that was launched
// before a given time. buckets.h, packs.h and communication.h need these. Private to weft/predict.
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::predict {

struct OutEdge {
  graph::OpId destination;
  graph::EdgeId edge;
};

/// The constructor takes O(n log n) for n ops. The object keeps no reference to the graph.
class LaunchOrder {
 public:
  explicit LaunchOrder(const graph::Graph& graph);

  /// Returns the host call that launched a device op, or kNoId if the call was not recorded.
  graph::OpId launch_of(graph::OpId device_op) const { return launch_of_[device_op]; }
  std::vector<OutEdge> out_edges(graph::OpId op) const {
    return {out_.begin() + first_out_[op], out_.begin() + first_out_[op + 1]};
  }
  /// Returns the last kernel or copy that `rank` had launched by the recorded time `time`, or kNoId
  /// if there is none.
  graph::OpId last_compute(std::int32_t rank, Nanos time) const;

 private:
  struct Launched {
    Nanos time;  ///< recorded start of the launch
    graph::OpId op;
  };
  std::vector<graph::OpId> launch_of_;
  std::vector<std::ptrdiff_t> first_out_;
  std::vector<OutEdge> out_;
  std::vector<std::vector<Launched>> compute_;  ///< one list per rank, sorted by time of launch
};

}  // namespace weft::predict
