// SPDX-License-Identifier: Apache-2.0
// The one way to make or restructure a Graph: add lanes, ops and edges in any order, then finish().
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
  /// Its op ids are fixed up by finish(), which also makes its ops point back to it.
  std::uint32_t add_collective(Collective collective);
  /// Removes an op: edges through it are dropped, not bridged.
  void remove_op(OpId op);
  template <class Predicate>
  void remove_edges_if(Predicate predicate);  ///< predicate(source, destination, const Edge&)

  Graph& draft() { return graph_; }  ///< columns may be edited in place before finish()

  /// Orders ops topologically (ties by recorded start, then by id: deterministic), groups edges,
  /// drops removed ops. An op without recorded start counts as the latest op it follows, so that
  /// ids run roughly with time. A cycle is an Error that names the ops on it. If `new_ids` is given
  /// it receives, for each old id, the new one (kNoId if removed). A collective whose transfer was
  /// removed stays, with `transfer` kNoId. The result is not verified.
  Result<Graph> finish(std::vector<OpId>* new_ids = nullptr) &&;
  /// The same, but remaining ops keep their order; an edge against it is an Error.
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
