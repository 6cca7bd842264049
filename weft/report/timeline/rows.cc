// SPDX-License-Identifier: Apache-2.0
// Assigns a depth (a row) to each span. nest() and stack() go through the spans in order of their
// start and remember when earlier spans end. In nest(), the depth of a span is the number of calls
// that are open at its start. In stack(), it is the first row that is free at its start.
#include "weft/report/timeline/rows.h"

#include <algorithm>
#include <tuple>

#include "weft/base/sort_runs.h"

namespace weft::report {
namespace {

/// Sorts the spans by start. If several spans start at the same time, the longest span comes first,
/// because it encloses the others.
void sort_by_start(std::vector<LaneSpan>& spans) {
  sort_runs(spans, [](const LaneSpan& a, const LaneSpan& b) {
    return std::tuple(a.start, -a.duration, a.event) < std::tuple(b.start, -b.duration, b.event);
  });
}

}  // namespace

void nest(std::vector<LaneSpan>& spans) {
  sort_by_start(spans);
  std::vector<Nanos> open;  // end times of the open spans, outermost first
  for (LaneSpan& span : spans) {
    // Only the innermost call is tested. If it is still open, the span goes below it, even if an
    // outer call has already ended. This can happen because recorded times are not exact, so calls
    // may overlap slightly.
    while (!open.empty() && open.back() <= span.start) open.pop_back();
    span.depth = static_cast<std::uint32_t>(open.size());
    open.push_back(span.end());
  }
}

void stack(std::vector<LaneSpan>& spans) {
  sort_by_start(spans);
  std::vector<Nanos> row_ends;
  for (LaneSpan& span : spans) {
    const auto row = std::find_if(row_ends.begin(), row_ends.end(),
                                  [&](Nanos end) { return end <= span.start; });
    span.depth = static_cast<std::uint32_t>(row - row_ends.begin());
    if (row == row_ends.end()) {
      row_ends.push_back(span.end());
    } else {
      *row = span.end();
    }
  }
}

}  // namespace weft::report
