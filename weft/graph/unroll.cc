// SPDX-License-Identifier: Apache-2.0
// Builds the graph of a sequence of recorded steps. Each instance of a step is a copy of the step's
// ops and of the edges between them. Edges between two instances are the difficult part, because
// two steps that follow each other in the sequence may not have been neighbours in the recording.
// There are two cases:
//   * Order of lanes: the first op of a lane follows the lane's last op in the instance before. If
//     this last op waits for a transfer, the first op follows the transfer. The delay is the
//     recorded gap (lane_gap()).
//   * Other edges (launches, event waits, edges between threads): two steps that were neighbours in
//     the recording keep their recorded edges. Other pairs get the edges between the first two
//     recorded neighbours. There, each end of an edge is replaced by an op of the step that is
//     joined: the op with the same place (lane, index in the lane) and the same name.
#include "weft/graph/unroll.h"

#include <algorithm>
#include <map>
#include <string>

#include "weft/base/check.h"
#include "weft/graph/builder.h"
#include "weft/graph/names.h"

namespace weft::graph {
namespace {

/// The place of an op within its step. Training steps repeat, so ops at the same place in different
/// steps do the same work.
struct CopyPlace {
  LaneId lane;
  std::uint32_t index;  ///< position among the ops of this step and lane
  bool operator<(const CopyPlace& o) const {
    return std::pair{lane, index} < std::pair{o.lane, o.index};
  }
};

/// All edges from one recorded step to the next.
struct Boundary {
  std::vector<std::pair<OpId, EdgeId>> edges;  ///< destination and edge
};

class Unroller {
 public:
  Unroller(const Graph& graph, const std::vector<std::int64_t>& sequence)
      : graph_(graph), sequence_(sequence) {
    index_steps();
    find_boundaries();
    find_end_marks();
  }

  Result<Unrolled> run() {
    builder_.draft().lanes = graph_.lanes;
    begin_ = builder_.add_op({.kind = OpKind::kHost, .lane = 0, .name = "begins"});
    origin_.push_back(0);
    std::vector<OpId> before, now;
    for (std::size_t i = 0; i < sequence_.size(); ++i) {
      before = std::move(now);
      now = add_step(i);
      if (i > 0) join(i, before, now);
    }
    add_missing_begins();
    builder_.draft().steps.resize(sequence_.size());
    for (std::size_t i = 0; i < sequence_.size(); ++i) {
      builder_.draft().steps[i] = static_cast<std::int64_t>(i);
    }
    std::vector<OpId> renamed;
    Unrolled result;
    WEFT_ASSIGN(result.graph, std::move(builder_).finish(&renamed));
    result.op_origin.assign(origin_.size(), kNoId);
    for (OpId op = 0; op < origin_.size(); ++op) result.op_origin[renamed[op]] = origin_[op];
    // finish() groups edges by destination, and keeps the order in which they were added.
    std::vector<EdgeId> next(result.graph.first_edge.begin(), result.graph.first_edge.end() - 1);
    result.edge_origin.assign(result.graph.edges.size(), kNoId);
    for (const auto& [destination, origin] : edge_origins_) {
      result.edge_origin[next[renamed[destination]]++] = origin;
    }
    return result;
  }

 private:
  void index_steps() {
    place_.resize(graph_.size());
    for (OpId op = 0; op < graph_.size(); ++op) {
      const std::int32_t step = graph_.ops.step[op];
      if (step < 0) continue;
      auto& lane = lanes_[step][graph_.ops.lane[op]];
      place_[op] = {graph_.ops.lane[op], static_cast<std::uint32_t>(lane.size())};
      lane.push_back(op);
      in_step_[step].push_back(op);
    }
  }

  void find_end_marks() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.ops.step[op] < 0 && graph_.name(op) == kStepMark) {
        end_mark_[graph_.ops.lane[op]] = op;
      }
    }
  }

  void find_boundaries() {
    std::map<std::int64_t, std::int64_t> next;
    for (std::size_t i = 0; i + 1 < graph_.steps.size(); ++i) {
      next[graph_.steps[i]] = graph_.steps[i + 1];
    }
    for (OpId op = 0; op < graph_.size(); ++op) {
      for (EdgeId e = graph_.first_edge[op]; e < graph_.first_edge[op + 1]; ++e) {
        const std::int32_t from = graph_.ops.step[graph_.edges[e].source];
        if (from < 0 || graph_.ops.step[op] < 0) continue;
        const auto after = next.find(from);
        if (after != next.end() && after->second == graph_.ops.step[op]) {
          boundaries_[from].edges.emplace_back(op, e);
        }
      }
    }
  }

  std::vector<OpId> add_step(std::size_t position) {
    const std::int64_t step = sequence_[position];
    std::vector<OpId> ids(graph_.size(), kNoId);
    const Ops& ops = graph_.ops;
    for (const OpId op : in_step_[step]) {
      ids[op] = builder_.add_op({.kind = ops.kind[op],
                                 .lane = ops.lane[op],
                                 .name = graph_.name(op),
                                 .step = static_cast<std::int32_t>(position),
                                 .duration = ops.duration[op],
                                 .bytes = ops.bytes[op],
                                 .event = ops.event[op],
                                 .host_events = ops.host_events[op]});
      origin_.push_back(op);
    }
    for (const OpId op : in_step_[step]) {
      // How long a launch waited for room in the queue depends on how far the host was ahead. The
      // host is ahead by another amount in the unrolled job. So neither the wait nor its recorded
      // length is kept.
      const bool queue = is_queue_wait(graph_, op);
      for (const Edge& edge : graph_.in_edges(op)) {
        if (ids[edge.source] == kNoId || (queue && edge.kind == EdgeKind::kHostSync)) continue;
        const bool waited = queue && ops.kind[op] == OpKind::kSync;
        const auto id = static_cast<EdgeId>(&edge - graph_.edges.data());
        add_edge(ids[edge.source], ids[op], edge.kind, waited ? kNoId : id, edge.inferred);
      }
    }
    for (const Collective& from : graph_.collectives) {
      if (from.transfer == kNoId || ids[from.transfer] == kNoId) continue;
      Collective copy = from;
      copy.transfer = ids[from.transfer];
      copy.arrivals.clear();
      for (const OpId arrival : from.arrivals) {
        if (ids[arrival] != kNoId) copy.arrivals.push_back(ids[arrival]);
      }
      builder_.add_collective(std::move(copy));
    }
    return ids;
  }

  /// Returns the ops at which the work of a lane in a step ends. This is its last op. If this op is
  /// an arrival, it is replaced by the transfers for which it waits. A kernel that carries several
  /// messages has several arrivals with the same event at the end of the lane: then all their
  /// transfers are returned.
  std::vector<OpId> tail(std::int64_t step, LaneId lane) const {
    const auto found = lanes_.at(step).find(lane);
    if (found == lanes_.at(step).end()) return {};
    std::vector<OpId> ops;
    const auto& row = found->second;
    for (std::size_t i = row.size(); i-- > 0;) {
      const OpId op = row[i];
      const bool waits = graph_.ops.kind[op] == OpKind::kArrive && graph_.ops.duration[op] == 0 &&
                         graph_.ops.collective[op] != kNoId;
      if (i + 1 < row.size() && graph_.ops.event[op] != graph_.ops.event[row.back()]) break;
      const OpId transfer = waits ? graph_.collectives[graph_.ops.collective[op]].transfer : kNoId;
      ops.push_back(transfer == kNoId ? op : transfer);
      if (!waits) break;
    }
    return ops;
  }

  /// Adds an edge with the delay of a recorded edge, or with no delay for kNoId.
  void add_edge(OpId source, OpId destination, EdgeKind kind, EdgeId origin, bool inferred) {
    const Nanos delay = origin == kNoId ? 0 : graph_.edges[origin].delay;
    builder_.add_edge(source, destination, kind, delay, inferred);
    edge_origins_.emplace_back(destination, origin);
  }

  /// Returns the recorded edge whose delay is the time on a lane from the end of step `from` to the
  /// first op of step `to`. There may be no such edge: the steps may not be neighbours in the
  /// recording, or `to` may be the first recorded step, so that the step before it was not
  /// recorded. Then the edge between two other recorded steps is used, or kNoId.
  EdgeId lane_gap(std::int64_t from, std::int64_t to, LaneId lane) const {
    const auto gap_of = [&](OpId op) {
      for (EdgeId e = graph_.first_edge[op]; e < graph_.first_edge[op + 1]; ++e) {
        const EdgeKind kind = graph_.edges[e].kind;
        if (kind == EdgeKind::kOrder || kind == EdgeKind::kCollective) return e;
      }
      return kNoId;
    };
    // A step mark follows the last recorded step. It shows when the next step would have begun.
    if (is_last(from)) {
      const auto end = end_mark_.find(lane);
      if (end != end_mark_.end()) return gap_of(end->second);
    }
    const auto& row = lanes_.at(to).at(lane);
    if (graph_.steps.size() > 1 && to != graph_.steps.front()) return gap_of(row.front());
    if (graph_.steps.size() > 1) {
      const auto& second = lanes_.at(graph_.steps[1]);
      const auto found = second.find(lane);
      if (found != second.end()) return gap_of(found->second.front());
    }
    return kNoId;
  }

  bool is_last(std::int64_t step) const { return step == graph_.steps.back(); }

  void join(std::size_t position, const std::vector<OpId>& before, const std::vector<OpId>& now) {
    const std::int64_t from = sequence_[position - 1], to = sequence_[position];
    for (const auto& [lane, row] : lanes_[to]) {
      for (const OpId op : tail(from, lane)) {
        if (before[op] == kNoId) continue;
        add_edge(before[op], now[row.front()], EdgeKind::kOrder, lane_gap(from, to, lane), false);
      }
    }
    // The other dependencies are copied from two neighbouring recorded steps, see the head of this
    // file. Edges within a lane and order edges have been added above.
    auto pattern = boundaries_.find(from);
    const bool own = pattern != boundaries_.end() && follows(from, to);
    if (!own) pattern = boundaries_.begin();
    if (pattern == boundaries_.end()) return;
    for (const auto& [destination, e] : pattern->second.edges) {
      const Edge& edge = graph_.edges[e];
      if (graph_.ops.lane[edge.source] == graph_.ops.lane[destination] ||
          edge.kind == EdgeKind::kOrder || is_queue_wait(graph_, destination)) {
        continue;
      }
      const OpId source = own ? edge.source : twin(edge.source, from);
      const OpId target = own ? destination : twin(destination, to);
      if (source == kNoId || target == kNoId) continue;
      if (before[source] == kNoId || now[target] == kNoId) continue;
      add_edge(before[source], now[target], edge.kind, e, edge.inferred);
    }
  }

  bool follows(std::int64_t from, std::int64_t to) const {
    const auto it = std::find(graph_.steps.begin(), graph_.steps.end(), from);
    return it != graph_.steps.end() && std::next(it) != graph_.steps.end() && *std::next(it) == to;
  }

  /// Returns the op at the same place in another step, or kNoId if there is none or its name
  /// differs.
  OpId twin(OpId op, std::int64_t step) const {
    const auto lanes = lanes_.find(step);
    if (lanes == lanes_.end()) return kNoId;
    const auto row = lanes->second.find(place_[op].lane);
    if (row == lanes->second.end() || place_[op].index >= row->second.size()) return kNoId;
    const OpId other = row->second[place_[op].index];
    return graph_.ops.name[other] == graph_.ops.name[op] ? other : kNoId;
  }

  /// Adds an edge from op 0 to each op without edges. The predicate below removes nothing. Calling
  /// it is the only way to visit all edges of a builder.
  void add_missing_begins() {
    std::vector<bool> follows_something(builder_.draft().size());
    builder_.remove_edges_if([&](OpId, OpId destination, const Edge&) {
      follows_something[destination] = true;
      return false;
    });
    for (OpId op = 1; op < follows_something.size(); ++op) {
      if (!follows_something[op]) add_edge(begin_, op, EdgeKind::kOrder, kNoId, false);
    }
  }

  const Graph& graph_;
  const std::vector<std::int64_t>& sequence_;
  GraphBuilder builder_;
  OpId begin_ = 0;
  std::vector<OpId> origin_;  ///< origin_[new op]: the op of `graph_` that it copies
  /// One entry per added edge: its destination, and the recorded edge from which it has its delay.
  std::vector<std::pair<OpId, EdgeId>> edge_origins_;
  std::vector<CopyPlace> place_;  ///< one place for each op of `graph_`
  /// lanes_[step][lane]: the ops of this step on this lane
  std::map<std::int64_t, std::map<LaneId, std::vector<OpId>>> lanes_;
  std::map<std::int64_t, std::vector<OpId>> in_step_;  ///< in_step_[step]: the ops of this step
  /// boundaries_[step]: the edges from this step to the next recorded step
  std::map<std::int64_t, Boundary> boundaries_;
  std::map<LaneId, OpId> end_mark_;  ///< end_mark_[lane]: the mark that ends the last step
};

}  // namespace

Result<Unrolled> unroll(const Graph& graph, const std::vector<std::int64_t>& sequence) {
  for (const std::int64_t step : sequence) {
    if (std::find(graph.steps.begin(), graph.steps.end(), step) == graph.steps.end()) {
      return fail(ErrorCode::kUsage, "step " + std::to_string(step) + " is not in this recording");
    }
  }
  return Unroller(graph, sequence).run();
}

}  // namespace weft::graph
