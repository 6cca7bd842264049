// SPDX-License-Identifier: Apache-2.0
// Makes a recorded job of a graph, for tests.
#pragma once

#include <utility>

#include "weft/predict/job.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// Returns a job whose recorded times are those of a replay of `graph`. A recorded arrival lasts
/// until its transfer ends.
inline predict::Job recorded_job(graph::Graph graph) {
  sim::Replay replay(graph);
  replay.run();
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const std::uint32_t c = graph.ops.collective[op];
    const graph::OpId transfer = c == graph::kNoId ? graph::kNoId : graph.collectives[c].transfer;
    const bool waits = graph.ops.kind[op] == graph::OpKind::kArrive && transfer != graph::kNoId;
    graph.ops.recorded_start[op] = replay.start(op);
    graph.ops.recorded_duration[op] = replay.end(waits ? transfer : op) - replay.start(op);
  }
  predict::Job job;
  job.graph = std::move(graph);
  return job;
}

}  // namespace weft::diagnose
