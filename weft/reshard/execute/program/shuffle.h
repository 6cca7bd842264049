// SPDX-License-Identifier: Apache-2.0
// Runs moves inside one buffer whose source and destination overlap. Such moves permute data, so
// data is moved along the cycles of this permutation. This needs little memory beside the buffer:
// one unit of data, and one mark (a bit) per unit.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// An upper bound on the memory that shuffle() needs for marks, in bytes.
Bytes mark_bytes(const std::vector<Shuffle>& shuffles);

/// Runs all moves at once: the result is as if every read came before any write. The regions that
/// are read do not overlap each other. The regions that are written do not overlap each other
/// either. `marks` are mark_bytes() bytes, all 0.
void shuffle(const std::vector<Shuffle>& shuffles, const Buffers& buffers, std::byte* marks);

}  // namespace weft::reshard::execute
