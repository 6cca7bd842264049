// SPDX-License-Identifier: Apache-2.0
// An Edit is a change of a graph, as plain data. What-ifs, findings and planners all describe their
// changes in this form. So a change can be tested, printed, compared and combined before anything
// is applied, and a simulator can evaluate it without a new graph.
//
// The text form of an edit has one change per line. Ops and collectives of the graph are called o7
// and c3, as print_text() names them. New ops and collectives have lines as in the text of a graph.
//
//   time o12 3us                     # op 12 takes 3us
//   delay o7 after o4+1us:launch     # the launch edge from op 4 to op 7 gets this delay
//   remove o12                       # op 12 and its edges go
//   cut o7 after o4                  # the order edge from op 4 to op 7 goes
//   step 2                           # new ops that follow belong to step 2
//   new: kernel @1 5us "sum" after o4+1us:launch
//   link o9 after new:event_wait     # a new edge to an op of the graph
//   c: collective allreduce ranks=2 bytes=64 transfer=t arrivals=a,b
//   replace c3 with c                # collective 3 becomes what line c says, instead of a new one
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::graph {

struct Edit {
  struct NewOp {
    OpKind kind = OpKind::kKernel;
    LaneId lane = 0;
    std::string name;
    std::int32_t step = -1;
    Nanos duration = 0;
    Bytes bytes = -1;
    /// The recorded time at which the op is inserted, or -1. It orders ops that do not depend on
    /// each other.
    Nanos at = -1;
    bool operator==(const NewOp&) const = default;
  };
  struct NewEdge {
    OpId source = 0, destination = 0;
    EdgeKind kind = EdgeKind::kOrder;
    Nanos delay = 0;
    bool inferred = false;
    bool operator==(const NewEdge&) const = default;
  };
  struct NewCollective {
    /// The collective of the graph that this one replaces, or kNoId to add one.
    std::uint32_t replaces = kNoId;
    Collective collective;
  };

  std::vector<std::pair<OpId, Nanos>> durations;
  std::vector<std::pair<EdgeId, Nanos>> delays;
  std::vector<OpId> removed_ops;      ///< their edges are removed, too
  std::vector<EdgeId> removed_edges;  ///< edges of the graph
  std::vector<NewOp> ops;             ///< ops[i] has the id graph.size() + i
  std::vector<NewEdge> edges;         ///< between ops of the graph and new ops
  std::vector<NewCollective> collectives;

  bool empty() const {
    return durations.empty() && delays.empty() && removed_ops.empty() && removed_edges.empty() &&
           ops.empty() && edges.empty() && collectives.empty();
  }
  /// True if the graph keeps its ops and edges.
  bool changes_only_times() const {
    return removed_ops.empty() && removed_edges.empty() && ops.empty() && edges.empty() &&
           collectives.empty();
  }
};

/// Returns the edit that turns the times of `before` into those of `after`. Both graphs must have
/// the same ops and edges. Linear.
Edit changed_times(const Graph& before, const Graph& after);

/// Checks that an edit fits a graph: all ids exist, and no time is negative. Linear in the edit.
Status check(const Graph& graph, const Edit& edit);

/// Returns the edited graph. An Error (kBadInput) if the edit does not fit the graph, or if ops
/// wait for each other in a cycle. If `new_ids` is given, it receives the new id of each op of the
/// graph, followed by those of the new ops; kNoId for removed ops. O(n log n) in the graph.
Result<Graph> apply(const Graph& graph, const Edit& edit, std::vector<OpId>* new_ids = nullptr);

/// Parses the text form of an edit of `graph`. An Error names the line.
Result<Edit> parse_edit(const Graph& graph, std::string_view text);
/// Prints an edit that fits `graph`. If the text is parsed and printed again, it is the same.
std::string print_edit(const Graph& graph, const Edit& edit);

}  // namespace weft::graph
