// SPDX-License-Identifier: Apache-2.0
// Moves inside a buffer whose ends overlap: every run of bytes is taken along its cycle, so that
// beside one run only a bit for each of them is needed.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// Bytes of marks that shuffle() needs, at most.
Bytes mark_bytes(const std::vector<Shuffle>& shuffles);

/// All at once: everything is read as it was before. What is read does not overlap, nor does what
/// is written. `marks`: of mark_bytes(), all 0.
void shuffle(const std::vector<Shuffle>& shuffles, const Buffers& buffers, std::byte* marks);

}  // namespace weft::reshard::execute
