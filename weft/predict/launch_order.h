// SPDX-License-Identifier: Apache-2.0
// Who launched what, looked up from either side; private to the passes.
#pragma once

#include <vector>

#include "weft/graph/graph.h"

namespace weft::predict {

struct OutEdge {
  graph::OpId destination;
  graph::EdgeId edge;
};

/// Edges by source, and launches by op.
class LaunchOrder {
 public:
  explicit LaunchOrder(const graph::Graph& graph);

  /// The host call that launched a device op; kNoId if it was not recorded.
  graph::OpId launch_of(graph::OpId device_op) const { return launch_of_[device_op]; }
  std::vector<OutEdge> out_edges(graph::OpId op) const {
    return {out_.begin() + first_out_[op], out_.begin() + first_out_[op + 1]};
  }
  /// The last compute (not communication) that `rank` had launched by recorded time `time`.
  graph::OpId last_compute(std::int32_t rank, Nanos time) const;

 private:
  struct Launched {
    Nanos time;
    graph::OpId op;
  };
  std::vector<graph::OpId> launch_of_;
  std::vector<std::ptrdiff_t> first_out_;
  std::vector<OutEdge> out_;
  std::vector<std::vector<Launched>> compute_;  ///< by rank, by time of launch
};

}  // namespace weft::predict
