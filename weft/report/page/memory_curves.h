// SPDX-License-Identifier: Apache-2.0
// Memory curves for a page: of the fullest ranks, with as many points as can be seen.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/sim/memory.h"

namespace weft::report {

struct RankCurve {
  std::int32_t rank = -1;
  sim::MemoryCurve curve;
};

/// At most about twice `most` points. The first, the last and the peak stay, and so does the
/// highest point of every stretch.
sim::MemoryCurve thin_curve(const sim::MemoryCurve& curve, std::size_t most);

/// The `most` devices with the highest peaks, by rank and device. Host memory is left out.
std::vector<RankCurve> memory_curves(const trace::Run& run, std::size_t most = 16,
                                     std::size_t most_points = 300);

}  // namespace weft::report
