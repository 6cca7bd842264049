// SPDX-License-Identifier: Apache-2.0
// Places the spans in order of their start. If two spans start at the same time, the longer span
// comes first. So a span can only nest inside spans that are already placed. Each track has a stack
// with the end times of its open spans. A span fits on a track if no span is open there, or if it
// ends no later than the innermost open span.
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
  std::vector<std::vector<Nanos>> open;  // per track: end times of the spans that are still open
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
