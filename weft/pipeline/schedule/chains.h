// SPDX-License-Identifier: Apache-2.0
// Turns a pipeline into the form that the search for schedules uses: chains of equal ops that run
// on machines. Micro-batches are equal. So some shortest schedule runs them in order, on every
// stage and for every kind of op. Proof: take any schedule and give the k-th op of each chain the
// number k. The new numbers violate no dependency and no memory limit. So only one thing is left to
// decide: how each machine merges its chains into one order.
#pragma once

#include <optional>
#include <utility>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

using ChainId = std::int32_t;

/// The ops of one kind of a stage, or the transfers of one direction of a boundary: one op per
/// micro-batch, in order.
struct Chain {
  StageId stage = 0;
  Kind kind = Kind::kForward;
  bool is_transfer = false;  ///< sent by `stage`: its output, or the gradient of its input
  Nanos duration = 0;
  Bytes memory = 0;  ///< change per op, as in Stage
  Nanos tail = 0;  ///< at least this much time is between the end of any op and the end of the step
};

/// Op k of `to` starts at least `delay` after the end of op k of `from`.
struct Arc {
  ChainId from = 0, to = 0;
  Nanos delay = 0;
};

/// A device or a link. It runs one op at a time.
struct Machine {
  std::vector<ChainId> chains;
  /// Pairs (a, b) of positions in `chains`: op k of b runs after op k of a.
  std::vector<std::pair<int, int>> precedence;
  std::optional<Bytes> memory_limit;
};

struct Chains {
  Micro length = 0;  ///< ops of every chain: the number of micro-batches
  std::vector<Chain> chains;
  std::vector<Arc> arcs;
  std::vector<Machine> machines;  ///< all devices by number, then the links that transfers occupy
};

/// Backwards are split into halves if the pipeline allows it and the weight half takes time. Links
/// may serve in any order here, while simulate() serves in the order of readiness. This relaxes the
/// problem, so a lower bound for the chains is also a lower bound for the pipeline.
Chains make_chains(const Pipeline& pipeline);

}  // namespace weft::pipeline
