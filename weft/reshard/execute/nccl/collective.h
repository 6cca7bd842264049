// SPDX-License-Identifier: Apache-2.0
// Turns in which all ranks do the same that NCCL has a collective for: an all-gather, where every
// rank sends one part to all others, and a reduce-scatter, where every rank gets its part of the
// sum of all. NCCL knows faster ways for them than messages from each to each.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/turn.h"

namespace weft::reshard::execute::nccl {

struct Collective {
  enum class Kind { kNone, kAllGather, kReduceScatter };
  Kind kind = Kind::kNone;
  int type = 0;           ///< NCCL's number
  std::size_t count = 0;  ///< elements of a part; shorter parts are filled up with anything
  cuda::Wired from, to;   ///< memory of one part, and of the parts of all ranks in their order, or
                          ///< the other way round; peers mean nothing
  std::vector<cuda::Copy> before, after;
  Bytes staging = 0;
};

/// kNone where it is neither, parts differ too much in size, the program has a budget, or NCCL does
/// not know the type. Looks at this rank's turn alone: it counts only where all ranks find the
/// same, see summary().
Collective find_collective(const Program& program, const Turn& turn, int ranks);

/// A number that is the same on all ranks if they have found the same in all turns.
std::uint64_t summary(const Program& program, int ranks);

}  // namespace weft::reshard::execute::nccl
