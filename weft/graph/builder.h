// SPDX-License-Identifier: Apache-2.0
// GraphBuilder makes a new Graph, or changes the structure of an existing one. There is no other
// way to do this. Add lanes, ops and edges in any order, then call finish(). All calls that add or
// remove something take amortised constant time. finish() takes O(n log n).
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
  /// Starts from a copy of `graph`, which can then be changed. Ops keep their ids until finish().
  explicit GraphBuilder(const Graph& graph);

  LaneId add_lane(LaneKind kind, std::int32_t rank, std::string name);
  OpId add_op(const OpSpec& spec);
  void add_edge(OpId source, OpId destination, EdgeKind kind, Nanos delay = 0,
                bool inferred = false);
  /// Adds a collective. It refers to its ops by their ids in this builder. finish() replaces these
  /// ids by the ids of the finished graph, and makes the ops refer to the collective.
  std::uint32_t add_collective(Collective collective);
  /// Removes an op and its edges. If its predecessors and successors must keep their order, add
  /// edges from the predecessors to the successors.
  void remove_op(OpId op);
  /// These two take ids of edges of the graph from which the builder started. They must be called
  /// before remove_edges_if(), which renumbers edges.
  void set_delay(EdgeId edge, Nanos delay);
  void remove_edge(EdgeId edge);
  template <class Predicate>
  void remove_edges_if(Predicate predicate);  ///< predicate(source, destination, const Edge&)

  /// Returns the unfinished graph. Its columns may be changed directly until finish() is called.
  Graph& draft() { return graph_; }

  /// Makes the graph. Removed ops are dropped, edges are grouped by destination, and ops are put
  /// into a topological order. Where this order leaves a choice, the op with the earlier recorded
  /// start comes first, then the op with the lower id. So the result is deterministic. An op
  /// without recorded start gets the start of its latest predecessor, so ids grow roughly with
  /// time. A cycle is an Error that names the ops on it. If `new_ids` is given, it receives the new
  /// id of each old id (kNoId if the op was removed). A collective whose transfer was removed stays
  /// in the graph with `transfer` = kNoId. finish() does not verify the result.
  Result<Graph> finish(std::vector<OpId>* new_ids = nullptr) &&;
  /// Like finish(), but the ops keep their present order. An edge from a later op to an earlier one
  /// is an Error.
  Result<Graph> finish_in_order(std::vector<OpId>* new_ids = nullptr) &&;

 private:
  Graph assemble(const std::vector<OpId>& order, std::vector<OpId>* new_ids) &&;
  void drop_removed_edges();

  struct FullEdge {
    OpId destination;  ///< kNoId: the edge was removed
    Edge edge;
  };
  Graph graph_;  ///< has ops, lanes, names and collectives; edges_ has the edges until finish()
  std::vector<FullEdge> edges_;
  std::vector<bool> removed_;
};

template <class Predicate>
void GraphBuilder::remove_edges_if(Predicate predicate) {
  std::erase_if(edges_, [&](const FullEdge& e) {
    return e.destination == kNoId || predicate(e.edge.source, e.destination, e.edge);
  });
}

}  // namespace weft::graph
