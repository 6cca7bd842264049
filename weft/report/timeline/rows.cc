// SPDX-License-Identifier: Apache-2.0
// Assigns a depth (a row) to each span. nest() and stack() go through the spans in order of their
// start and remember when earlier spans end. In nest(), the depth of a span is the number of calls
// that are open at its start. In stack(), it is the first row that is free at its start.
#include "weft/report/timeline/rows.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

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

/// Whether a span overlaps with a mark, but neither contains the other. `marks` is sorted by start.
bool straddles(const LaneSpan& span, const std::vector<LaneSpan>& marks) {
  const auto partly = [](const LaneSpan& a, const LaneSpan& b) {
    return a.start < b.start && b.start < a.end() && a.end() < b.end();
  };
  const auto after = std::upper_bound(marks.begin(), marks.end(), span.start,
                                      [](Nanos t, const LaneSpan& mark) { return t < mark.start; });
  for (auto mark = after; mark != marks.end() && mark->start < span.end(); ++mark) {
    if (partly(span, *mark)) return true;
  }
  return after != marks.begin() && partly(*std::prev(after), span);
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

void nest_below_marks(std::vector<LaneSpan>& spans, const std::vector<std::uint32_t>& marks) {
  std::vector<LaneSpan> above;
  std::vector<LaneSpan> others;
  for (const LaneSpan& span : spans) {
    const bool is_mark = std::binary_search(marks.begin(), marks.end(), span.event);
    (is_mark ? above : others).push_back(span);
  }
  nest(above);
  if (std::none_of(others.begin(), others.end(),
                   [&](const LaneSpan& span) { return straddles(span, above); })) {
    nest(spans);
    return;
  }
  std::uint32_t rows = 0;
  for (const LaneSpan& mark : above) rows = std::max(rows, mark.depth + 1);
  nest(others);
  for (LaneSpan& span : others) span.depth += rows;
  spans = std::move(above);
  spans.insert(spans.end(), others.begin(), others.end());
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
