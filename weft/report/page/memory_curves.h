// SPDX-License-Identifier: Apache-2.0
// Makes the memory curves of a page. Only the devices with the highest peaks get a curve, and a
// curve has only as many points as a reader can see.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/sim/memory.h"

namespace weft::report {

struct RankCurve {
  std::int32_t rank = -1;
  sim::MemoryCurve curve;
};

/// Divides the time of the curve into `most` equal intervals and keeps, per interval, the highest
/// and the last point. The result has at most 2 * `most` + 1 points; the first point, the last
/// point and the peak are always kept.
sim::MemoryCurve thin_curve(const sim::MemoryCurve& curve, std::size_t most);

/// The curves of the `most` devices with the highest peaks, ordered by rank and device, each
/// thinned to `most_points` intervals. A rank without devices has a curve of its host memory.
std::vector<RankCurve> memory_curves(const trace::Run& run, std::size_t most = 16,
                                     std::size_t most_points = 300);

}  // namespace weft::report
