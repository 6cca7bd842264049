// SPDX-License-Identifier: Apache-2.0
// Spans are placed in order of start, and of two spans with the same start the longer one first:
// then a span can only nest in spans that are placed already. For each track, a stack has the ends
// of the open spans; a span nests on a track if it ends before the innermost open span.
#include "weft/report/exports/track_layout.h"

#include <tuple>

#include "weft/base/sort_runs.h"

namespace weft::report {

std::vector<std::vector<LaidSpan>> lay_out(std::vector<LaidSpan> spans) {
  sort_runs(spans, [](const LaidSpan& a, const LaidSpan& b) {
    return std::tuple(a.start, -a.duration, !a.outer, a.id) <
           std::tuple(b.start, -b.duration, !b.outer, b.id);
  });
  std::vector<std::vector<LaidSpan>> tracks;
  std::vector<std::vector<Nanos>> open;  // by track: ends of the spans that are not over yet
  for (const LaidSpan& span : spans) {
    std::size_t t = 0;
    for (;; ++t) {
      if (t == tracks.size()) {
        tracks.emplace_back();
        open.emplace_back();
      }
      while (!open[t].empty() && open[t].back() <= span.start) open[t].pop_back();
      if (open[t].empty() || span.end() <= open[t].back()) break;
    }
    tracks[t].push_back(span);
    open[t].push_back(span.end());
  }
  return tracks;
}

}  // namespace weft::report
