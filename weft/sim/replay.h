// SPDX-License-Identifier: Apache-2.0
// Replays a graph: computes when every op starts and ends. Ids are a topological order, so this is
// one sweep in op order. After a local change only the ops that it affects are visited again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// Holds a reference to the graph, which must outlive it and pass verify(). Durations and delays
/// are copied, so that many replays with different changes can share one graph. Ops without
/// in-edges start at 0. Copies are independent; one object is for one thread.
class Replay {
 public:
  explicit Replay(const graph::Graph& graph);

  /// Full sweep: linear in ops and edges.
  void run();

  /// Changes take effect at the next update() or run(). Times must not be negative.
  void set_duration(graph::OpId op, Nanos duration);
  void set_delay(graph::EdgeId edge, Nanos delay);
  /// Visits only the ops that the changes affect; the first time, all ops. Returns the number of
  /// ops visited.
  std::size_t update();

  /// Stores the present state (after an update() if one is due), so that a search can try a change
  /// and undo it. Replaces any earlier checkpoint. From here on every change is noted in a log,
  /// which makes update() a little slower.
  void checkpoint();
  /// Returns to the state of the last checkpoint(), which stays valid. Linear in the number of
  /// changes since then.
  void rollback();

  Nanos start(graph::OpId op) const { return start_[op]; }
  Nanos end(graph::OpId op) const { return end_[op]; }
  Nanos duration(graph::OpId op) const { return duration_[op]; }
  Nanos delay(graph::EdgeId edge) const { return delay_[edge]; }
  std::span<const Nanos> starts() const { return start_; }
  std::span<const Nanos> ends() const { return end_; }
  std::span<const Nanos> delays() const { return delay_; }  ///< by edge
  /// Latest end of all ops; 0 without ops. Linear in the number of ops without successors.
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
  struct OldInput {  ///< a duration or a delay
    std::uint32_t index;
    Nanos value;
  };

  Nanos ready_time(graph::OpId op) const;
  void mark(graph::OpId op);
  void clear_marks();
  void visit(graph::OpId op);

  const graph::Graph* graph_;
  std::vector<Nanos> start_, end_, duration_, delay_;
  std::vector<graph::OpId> source_;  ///< by edge: a column without the fields the sweep skips
  std::vector<std::uint32_t> first_out_;
  std::vector<OutEdge> out_;
  std::vector<graph::OpId> last_ops_;  ///< ops without successors: one of them ends last
  /// Ops to visit again: dirty_ has one bit per op, dirty_words_ one bit per non-zero word of
  /// dirty_. So update() jumps from one marked op to the next without scanning the ops between.
  std::vector<std::uint64_t> dirty_, dirty_words_;
  bool ran_ = false;
  bool noting_ = false;
  std::vector<OldTimes> old_times_;
  std::vector<OldInput> old_durations_, old_delays_;
};

}  // namespace weft::sim
