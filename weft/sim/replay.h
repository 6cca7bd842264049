// SPDX-License-Identifier: Apache-2.0
// Replays a graph: when does every op start and end? One sweep in op order, since ids are a
// topological order; after a local change only the ops whose times change are visited again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// Holds a reference to the graph, which must outlive it. Durations and delays are copied, so
/// that many replays with different changes can share one graph.
class Replay {
 public:
  explicit Replay(const graph::Graph& graph);

  /// Full sweep: linear in ops and edges.
  void run();

  /// Changes take effect at the next update() or run().
  void set_duration(graph::OpId op, Nanos duration);
  void set_delay(graph::EdgeId edge, Nanos delay);
  /// Visits only what changed. Needs one run() before. Returns the number of ops visited.
  std::size_t update();

  Nanos start(graph::OpId op) const { return start_[op]; }
  Nanos end(graph::OpId op) const { return end_[op]; }
  Nanos duration(graph::OpId op) const { return duration_[op]; }
  std::span<const Nanos> starts() const { return start_; }
  std::span<const Nanos> ends() const { return end_; }
  /// Latest end of all ops.
  Nanos makespan() const;
  const graph::Graph& graph() const { return *graph_; }

 private:
  // Filled by the implementation: copies of durations, compact in-edges, out-edges, dirty bits.
  const graph::Graph* graph_;
  std::vector<Nanos> start_, end_, duration_, delay_;
  std::vector<graph::OpId> source_;
  std::vector<std::uint32_t> first_out_;
  std::vector<graph::OpId> out_;
  std::vector<std::uint64_t> dirty_;
  graph::OpId lowest_dirty_ = 0;
};

}  // namespace weft::sim
