// SPDX-License-Identifier: Apache-2.0
// Assigns the spans of a lane to rows, so that the spans of a row do not overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"

namespace weft::report {

struct LaneSpan {
  Nanos start = 0;
  Nanos duration = 0;
  std::uint32_t event = 0;  ///< index into the rank's events; orders spans that are otherwise equal
  std::uint32_t depth = 0;  ///< row, counted from the top; nest() and stack() set it

  Nanos end() const { return start + duration; }
};

/// Sets the depths for a host thread: a call goes one row below the innermost call that is still
/// open when it starts. Sorts the spans by start. Takes O(n log n) time.
void nest(std::vector<LaneSpan>& spans);
/// Like nest(), but if a span overlaps with a mark of a step without being inside it or around it,
/// the marks get rows of their own above all other spans. Otherwise each such span would push the
/// next mark, and so all later spans, one row down. `marks` are the events of the marks, in
/// ascending order.
void nest_below_marks(std::vector<LaneSpan>& spans, const std::vector<std::uint32_t>& marks);
/// Sets the depths for a stream: a span goes to the first row that is free when it starts. Sorts
/// the spans by start. Takes O(n log n + n r) time for r rows.
void stack(std::vector<LaneSpan>& spans);

}  // namespace weft::report
