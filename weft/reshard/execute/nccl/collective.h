// SPDX-License-Identifier: Apache-2.0
// Finds turns that NCCL can do as one collective of all ranks. In an all-gather, every rank sends
// one part to all others. In a reduce-scatter, every rank receives its part of the sum over all
// ranks. NCCL's collectives are faster than messages between all pairs of ranks.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/turn.h"

namespace weft::reshard::execute::nccl {

struct Collective {
  enum class Kind { kNone, kAllGather, kReduceScatter };
  Kind kind = Kind::kNone;
  int type = 0;           ///< NCCL's number of the element type
  std::size_t count = 0;  ///< elements per part; shorter parts are padded with arbitrary data
  /// For an all-gather, `from` is the memory of this rank's part, and `to` is the memory of the
  /// parts of all ranks in their order. For a reduce-scatter, it is the other way round. The field
  /// `peer` is not used.
  cuda::MessageSpan from, to;
  std::vector<cuda::Copy> before, after;
  Bytes staging = 0;
};

/// Returns kNone in these cases: the turn is neither of the two collectives, parts differ too much
/// in size, the program has a budget, or NCCL does not know the type. This function looks only at
/// the turn of one rank. So use the collective only if all ranks find the same one, see summary().
Collective find_collective(const Program& program, const Turn& turn, int ranks);

/// A number that is the same on all ranks if all ranks have found the same collectives in all
/// turns.
std::uint64_t summary(const Program& program, int ranks);

}  // namespace weft::reshard::execute::nccl
