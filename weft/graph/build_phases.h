// SPDX-License-Identifier: Apache-2.0
// Op timelines (EventKind::kPhase) to a graph. Such a timeline knows no host calls and no streams,
// only units of work: "forward of micro-batch 3", "send it on", "reduce the gradients". What waits
// for what follows from how a synchronous pipeline is run:
//
//   parameters gathered -> first forward of the chunk
//   receive posted once the compute before it is over; received -> compute -> send
//   last compute -> layer-norm and embedding gradients -> reduce-scatter -> clip -> optimiser
//   (reduce-scatter right behind the last backward of its chunk where the job overlaps it)
//
// Compute keeps its recorded order. Data-parallel collectives join the replicas of a stage,
// messages neighbours of a pipeline, the embedding gradients its two ends, the clip everybody. A
// transfer lasts from its last arrival to the first member's release.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::graph {

/// Where a rank sits in a job of pipelines and their replicas.
struct Worker {
  std::int32_t rank = -1;
  std::int32_t replica = 0;
  std::int32_t stage = 0;
};

struct PhaseGraph {
  Graph graph;
  std::vector<Worker> workers;  ///< in rank order
};

/// True if the run is an op timeline, that is, made of phases.
bool has_phases(const trace::Run& run);

/// Steps follow each other without pause: each has an op "step" on the lane "job", which waits for
/// everything of the step before. Delays of edges are the launch delays that no dependency
/// explains; with them the replay is the recording. Where a timeline shows all members of a
/// collective starting together (as it does when only transfers were drawn), the wait of the early
/// ones is not counted as their delay.
/// Fails if ranks do not tell stage and replica, or two claim the same place.
Result<PhaseGraph> build_phases(const trace::Run& run, Diagnostics& diagnostics);

}  // namespace weft::graph
