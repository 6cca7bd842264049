// SPDX-License-Identifier: Apache-2.0
// The only way to make or restructure a Graph: add lanes, ops and edges in any order, then call
// finish(). All add and remove calls take amortised constant time; finish() takes O(n log n).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::graph {

struct OpSpec {
  OpKind kind = OpKind::kKernel;
  LaneId lane = 0;
  std::string_view name;
  std::int32_t step = -1;
  Nanos duration = 0;
  Nanos recorded_start = -1;
  Nanos recorded_duration = -1;
  Bytes bytes = -1;
  std::uint32_t event = kNoId;
  std::uint32_t collective = kNoId;
  std::int32_t host_events = 0;
};

class GraphBuilder {
 public:
  GraphBuilder() = default;
  /// Starts from a copy, so that passes can restructure it. Op ids stay what they were until
  /// finish().
  explicit GraphBuilder(const Graph& graph);

  LaneId add_lane(LaneKind kind, std::int32_t rank, std::string name);
  OpId add_op(const OpSpec& spec);
  void add_edge(OpId source, OpId destination, EdgeKind kind, Nanos delay = 0,
                bool inferred = false);
  /// finish() translates the op ids in `collective` and makes these ops point back to it.
  std::uint32_t add_collective(Collective collective);
  /// Removes an op and its edges. Add edges from its predecessors to its successors if these must
  /// keep their order.
  void remove_op(OpId op);
  template <class Predicate>
  void remove_edges_if(Predicate predicate);  ///< predicate(source, destination, const Edge&)

  Graph& draft() { return graph_; }  ///< columns may be edited in place before finish()

  /// Orders ops topologically (tie-breaks: recorded start, then id), groups edges by destination
  /// and drops removed ops. The order is deterministic. An op without recorded start gets the start
  /// of its latest predecessor, so ids grow roughly with time. A cycle is an Error that names the
  /// ops on it. If `new_ids` is given, it receives the new id of each old id (kNoId if removed).
  /// A collective whose transfer was removed stays, with `transfer` kNoId. finish() does not verify
  /// the result.
  Result<Graph> finish(std::vector<OpId>* new_ids = nullptr) &&;
  /// Like finish(), but the remaining ops keep their order. An edge against this order is an Error.
  Result<Graph> finish_in_order(std::vector<OpId>* new_ids = nullptr) &&;

 private:
  Graph assemble(const std::vector<OpId>& order, std::vector<OpId>* new_ids) &&;
  void drop_removed_edges();

  struct FullEdge {
    OpId destination;
    Edge edge;
  };
  Graph graph_;  ///< ops, lanes, names, collectives; edges stay in edges_ until finish()
  std::vector<FullEdge> edges_;
  std::vector<bool> removed_;
};

template <class Predicate>
void GraphBuilder::remove_edges_if(Predicate predicate) {
  std::erase_if(edges_,
                [&](const FullEdge& e) { return predicate(e.edge.source, e.destination, e.edge); });
}

}  // namespace weft::graph
