// SPDX-License-Identifier: Apache-2.0
// Moves inside one buffer whose source and destination overlap. Data is moved along the cycles of
// the permutation, so that little memory is needed beside the buffer: one unit of data, and one bit
// for each unit.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// An upper bound of the bytes of marks that shuffle() needs.
Bytes mark_bytes(const std::vector<Shuffle>& shuffles);

/// Runs all moves at once: every read comes before any write. The regions that are read do not
/// overlap each other, nor do those that are written. `marks`: mark_bytes() bytes, all 0.
void shuffle(const std::vector<Shuffle>& shuffles, const Buffers& buffers, std::byte* marks);

}  // namespace weft::reshard::execute
