// SPDX-License-Identifier: Apache-2.0
// A full curve has one point per allocation, so a job can have millions of points. Ranks are
// processed in parallel, and the curves of a rank are thinned as soon as they are made. The devices
// with the highest peaks are chosen afterwards. So only the ranks that are being processed have
// full curves in memory.
#include "weft/report/page/memory_curves.h"

#include <algorithm>

#include "weft/base/parallel.h"

namespace weft::report {

sim::MemoryCurve thin_curve(const sim::MemoryCurve& curve, std::size_t most) {
  const std::vector<sim::MemoryPoint>& points = curve.points;
  if (points.size() <= 2 * most) return curve;
  sim::MemoryCurve thin{curve.device, curve.source, {points.front()}, curve.peak};
  const Nanos begin = points.front().time;
  const Nanos interval = (points.back().time - begin) / static_cast<Nanos>(most) + 1;
  for (std::size_t i = 1; i < points.size();) {
    // Intervals are aligned to `begin`; intervals without a point are skipped.
    const Nanos until = begin + ((points[i].time - begin) / interval + 1) * interval;
    std::size_t highest = i, next = i;
    for (; next < points.size() && points[next].time < until; ++next) {
      if (points[next].allocated > points[highest].allocated) highest = next;
    }
    thin.points.push_back(points[highest]);
    // A curve keeps the value of a point until the next point. So the last point of the interval is
    // kept too; otherwise the curve would stay at the highest value until the next interval.
    if (next - 1 != highest) thin.points.push_back(points[next - 1]);
    i = next;
  }
  return thin;
}

std::vector<RankCurve> memory_curves(const trace::Run& run, std::size_t most,
                                     std::size_t most_points) {
  std::vector<std::vector<RankCurve>> by_rank(run.ranks.size());
  parallel_for(run.ranks.size(), [&](std::size_t r) {
    for (const sim::MemoryCurve& curve : sim::training_memory(run.ranks[r])) {
      by_rank[r].push_back({run.ranks[r].rank, thin_curve(curve, most_points)});
    }
  });
  std::vector<RankCurve> all;
  for (std::vector<RankCurve>& curves : by_rank) {
    for (RankCurve& each : curves) all.push_back(std::move(each));
  }
  if (all.size() <= most) return all;
  std::stable_sort(all.begin(), all.end(), [](const RankCurve& a, const RankCurve& b) {
    return a.curve.peak.bytes > b.curve.peak.bytes;
  });
  all.resize(most);
  std::stable_sort(all.begin(), all.end(),
                   [](const RankCurve& a, const RankCurve& b) { return a.rank < b.rank; });
  return all;
}

}  // namespace weft::report
