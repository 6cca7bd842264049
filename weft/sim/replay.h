// SPDX-License-Identifier: Apache-2.0
// Replays a graph: computes when every op starts and ends. Ids are a topological order, so one
// sweep over the ops in the order of ids is enough. After a local change, only the ops that the
// change affects are visited again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// The start and end of every op of one graph. Holds a reference to the graph. The graph must live
/// longer than the replay and pass verify().
/// Durations and delays are copied, so many replays with different changes can share one graph. An
/// op without in-edges starts at 0. Copies of a replay are independent. Only one thread may use a
/// replay at a time.
class Replay {
 public:
  explicit Replay(const graph::Graph& graph);

  /// Computes the times of all ops. Linear in ops and edges.
  void run();

  /// Each change takes effect at the next update() or run(). Durations and delays must not be
  /// negative.
  void set_duration(graph::OpId op, Nanos duration);
  void set_delay(graph::EdgeId edge, Nanos delay);
  /// Computes the times of the ops that the changes affect. The first call computes the times of
  /// all ops. Returns the number of ops that were visited.
  std::size_t update();

  /// Stores the present state, so that a search can try a change and undo it. Calls update() first
  /// if there are changes that have not taken effect. Replaces any earlier checkpoint. From then on
  /// every change is written to a log, so update() is a little slower.
  void checkpoint();
  /// Returns to the state of the last checkpoint(). The checkpoint stays valid. Linear in the
  /// number of changes since then.
  void rollback();

  Nanos start(graph::OpId op) const { return start_[op]; }
  Nanos end(graph::OpId op) const { return end_[op]; }
  Nanos duration(graph::OpId op) const { return duration_[op]; }
  Nanos delay(graph::EdgeId edge) const { return delay_[edge]; }
  std::span<const Nanos> starts() const { return start_; }
  std::span<const Nanos> ends() const { return end_; }
  std::span<const Nanos> delays() const { return delay_; }  ///< one entry per edge
  /// Returns the latest end of all ops, or 0 without ops. Linear in the number of ops without
  /// successors.
  Nanos makespan() const;
  const graph::Graph& graph() const { return *graph_; }

 private:
  struct OutEdge {
    graph::OpId destination;
    graph::EdgeId edge;
  };
  struct OldTimes {
    graph::OpId op;
    Nanos start, end;
  };
  struct OldInput {  ///< the former value of a duration or a delay
    std::uint32_t index;
    Nanos value;
  };

  Nanos ready_time(graph::OpId op) const;
  void mark(graph::OpId op);
  void clear_marks();
  void visit(graph::OpId op);

  const graph::Graph* graph_;
  std::vector<Nanos> start_, end_, duration_, delay_;
  /// source_[edge]: the source of the edge. This copy exists so that the sweep need not read the
  /// other fields of edges.
  std::vector<graph::OpId> source_;
  std::vector<std::uint32_t> first_out_;
  std::vector<OutEdge> out_;
  std::vector<graph::OpId> last_ops_;  ///< ops without successors; one of them ends last
  /// Marks the ops that update() must visit. dirty_ has one bit per op. dirty_words_ has one bit
  /// per word of dirty_, which is set if the word is not zero. So update() jumps from one marked op
  /// to the next one without looking at the ops between them.
  std::vector<std::uint64_t> dirty_, dirty_words_;
  bool ran_ = false;
  bool noting_ = false;
  std::vector<OldTimes> old_times_;
  std::vector<OldInput> old_durations_, old_delays_;
};

}  // namespace weft::sim
