// SPDX-License-Identifier: Apache-2.0
// Turns in which all ranks together do what NCCL has a collective for: an all-gather, in which
// every rank sends one part to all others, or a reduce-scatter, in which every rank receives its
// part of the sum over all ranks. NCCL's collectives are faster than messages between all pairs.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/turn.h"

namespace weft::reshard::execute::nccl {

struct Collective {
  enum class Kind { kNone, kAllGather, kReduceScatter };
  Kind kind = Kind::kNone;
  int type = 0;           ///< NCCL's number of the element type
  std::size_t count = 0;  ///< elements per part; shorter parts are padded with arbitrary data
  /// Memory of one part, and of the parts of all ranks in their order (reduce-scatter: the other
  /// way round). Peers are not used.
  cuda::MessageSpan from, to;
  std::vector<cuda::Copy> before, after;
  Bytes staging = 0;
};

/// kNone if the turn is neither, parts differ too much in size, the program has a budget, or NCCL
/// does not know the type. This looks at one rank's turn only, so it may be used only if all ranks
/// find the same, see summary().
Collective find_collective(const Program& program, const Turn& turn, int ranks);

/// A number that is the same on all ranks if they have found the same collectives in all turns.
std::uint64_t summary(const Program& program, int ranks);

}  // namespace weft::reshard::execute::nccl
