// SPDX-License-Identifier: Apache-2.0
// Distributes the spans of a lane over tracks. Viewers require that the spans of a track nest: two
// spans do not overlap, or one contains the other. Spans of a stream can overlap without nesting;
// such spans go to additional tracks.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"

namespace weft::report {

struct LaidSpan {
  Nanos start = 0;
  Nanos duration = 0;
  std::uint32_t id = 0;  ///< chosen by the caller; orders spans that are otherwise equal
  bool outer = false;    ///< of two spans with equal times, the `outer` one encloses the other

  Nanos end() const { return start + duration; }
};

/// Returns one list per track, sorted by start, outer spans before inner ones. A span goes to the
/// first track on which it nests. O(n log n + n t) for t tracks.
std::vector<std::vector<LaidSpan>> lay_out(std::vector<LaidSpan> spans);

}  // namespace weft::report
