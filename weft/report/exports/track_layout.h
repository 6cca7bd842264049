// SPDX-License-Identifier: Apache-2.0
// Viewers want the spans of a track to nest. Those of a stream may overlap in other ways, so a lane
// gets as many tracks as that takes.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"

namespace weft::report {

struct LaidSpan {
  Nanos start = 0;
  Nanos duration = 0;
  std::uint32_t id = 0;  ///< the caller's; decides between equals
  bool outer = false;    ///< of spans of the same time, those with `outer` are around the rest

  Nanos end() const { return start + duration; }
};

/// One list a track, each by start with outer spans before inner ones. A span goes to the first
/// track on which it nests. O(n log n) for spans that nest, times the number of tracks otherwise.
std::vector<std::vector<LaidSpan>> lay_out(std::vector<LaidSpan> spans);

}  // namespace weft::report
