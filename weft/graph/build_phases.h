// SPDX-License-Identifier: Apache-2.0
// Builds a graph from op timelines (EventKind::kPhase). Such a timeline has no host calls and no
// streams, only units of work: "forward of micro-batch 3", "send its output", "reduce the
// gradients". The dependencies follow from how a synchronous pipeline (Megatron-LM) runs:
//
//   parameters gathered -> first forward of the chunk
//   previous compute -> receive posted -> message received -> compute -> send
//   last compute -> layer-norm and embedding gradients -> reduce-scatter -> clip -> optimizer
//   (if the job overlaps the reduce-scatter: last backward of the chunk -> its reduce-scatter)
//
// Compute keeps its recorded order. Data-parallel collectives join the replicas of a stage.
// Messages join neighbouring stages of a pipeline. The reduction of the embedding gradients joins
// the first and the last stage of a pipeline, and gradient clipping joins all workers. A transfer
// lasts from its last arrival until its first member is done.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::graph {

/// The place of a rank in the job: the pipeline (replica) and the stage that it belongs to.
struct Worker {
  std::int32_t rank = -1;
  std::int32_t replica = 0;
  std::int32_t stage = 0;
};

struct PhaseGraph {
  Graph graph;
  std::vector<Worker> workers;  ///< one entry per rank, in the order of ranks
};

/// True if the run is an op timeline, which means that its events are phases.
bool has_phases(const trace::Run& run);

/// Each step begins with an op "step" on the lane "job". This op waits for all ops of the step
/// before, so steps follow each other without pause. Delays of edges hold the time that no
/// dependency explains, so a replay gives the recorded times. Some timelines show only the transfer
/// of a collective: there, all members start at the same time. Then the time for which the early
/// members waited is not stored as their delay. Fails if a rank does not tell its stage and
/// replica, or if two ranks claim the same place. O(n log n) in events.
Result<PhaseGraph> build_phases(const trace::Run& run, Diagnostics& diagnostics);

}  // namespace weft::graph
