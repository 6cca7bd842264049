// SPDX-License-Identifier: Apache-2.0
// A pipeline as the scheduler sees it: chains of equal ops that pass machines. Micro-batches are
// equal, so there is a best schedule in which every stage runs them in order, op by op of each kind
// (numbering the k-th op of every chain k breaks no rule). What is left to decide is how each
// machine merges its chains.
#pragma once

#include <optional>
#include <utility>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

using ChainId = std::int32_t;

/// The ops of one kind of a stage, or the transfers of one direction of a boundary, one a
/// micro-batch.
struct Chain {
  StageId stage = 0;
  Kind kind = Kind::kForward;
  bool is_transfer = false;  ///< away from `stage`: forward, or the gradient of its input
  Nanos duration = 0;
  Bytes memory = 0;
  Nanos tail = 0;  ///< passes between the end of any op of it and the end of the step
};

/// Op k of `to` starts `delay` or more after the end of op k of `from`.
struct Arc {
  ChainId from = 0, to = 0;
  Nanos delay = 0;
};

/// A device or a link: one op at a time.
struct Machine {
  std::vector<ChainId> chains;
  /// Pairs (a, b) of positions in `chains`: op k of b runs after op k of a.
  std::vector<std::pair<int, int>> precedence;
  std::optional<Bytes> memory_limit;
};

struct Chains {
  Micro length = 0;  ///< of every chain
  std::vector<Chain> chains;
  std::vector<Arc> arcs;
  std::vector<Machine> machines;  ///< devices by number, then links that are held for a time
};

/// Backwards are halved where the pipeline allows it and their weights take time. Links may serve
/// in any order here, so what bounds this bounds the pipeline.
Chains make_chains(const Pipeline& pipeline);

}  // namespace weft::pipeline
