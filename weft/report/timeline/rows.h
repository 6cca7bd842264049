// SPDX-License-Identifier: Apache-2.0
// Lays the spans of a lane out in rows, so that none overlaps another of its row.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"

namespace weft::report {

struct LaneSpan {
  Nanos start = 0;
  Nanos duration = 0;
  std::uint32_t event = 0;  ///< index into the rank's events; decides between equals
  std::uint32_t depth = 0;  ///< found by the functions below

  Nanos end() const { return start + duration; }
};

/// Host threads: a call is drawn below the calls that it was made in. Sorts by start.
void nest(std::vector<LaneSpan>& spans);
/// Streams: spans take the first free row. Sorts by start.
void stack(std::vector<LaneSpan>& spans);

}  // namespace weft::report
