// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/memory_curves.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::report {
namespace {

sim::MemoryCurve curve_of(const std::vector<Bytes>& levels) {
  sim::MemoryCurve curve;
  curve.device = 0;
  for (const Bytes level : levels) {
    const Nanos time = static_cast<Nanos>(curve.points.size()) * 10;
    curve.points.push_back({time, level, -1});
    if (level > curve.peak.bytes) curve.peak = {time, level, -1, ""};
  }
  return curve;
}

TEST(MemoryCurves, ShortCurvesAreNotThinned) {
  const sim::MemoryCurve curve = curve_of({1, 2, 3});
  EXPECT_EQ(thin_curve(curve, 2).points.size(), 3u);
}

TEST(MemoryCurves, ThinningKeepsEndsAndThePeak) {
  std::vector<Bytes> levels;
  for (Bytes i = 0; i < 10'000; ++i) levels.push_back(i * 7919 % 1000);
  levels[6543] = 5000;
  const sim::MemoryCurve curve = curve_of(levels);
  const sim::MemoryCurve thin = thin_curve(curve, 100);
  EXPECT_LE(thin.points.size(), 202u);
  EXPECT_EQ(thin.points.front().time, curve.points.front().time);
  EXPECT_EQ(thin.points.back().time, curve.points.back().time);
  EXPECT_EQ(thin.points.back().allocated, curve.points.back().allocated);
  EXPECT_TRUE(std::is_sorted(thin.points.begin(), thin.points.end(),
                             [](const auto& a, const auto& b) { return a.time < b.time; }));
  EXPECT_TRUE(std::any_of(thin.points.begin(), thin.points.end(), [&](const auto& point) {
    return point.time == curve.peak.time && point.allocated == curve.peak.bytes;
  }));
}

/// A rank whose allocator reports one total.
trace::RankTrace rank_with(std::int32_t rank, Bytes total, std::int32_t device = 0) {
  trace::RankTrace trace;
  trace.rank = rank;
  trace.lanes.resize(1);
  trace::MemoryDetail detail;
  detail.bytes = total;
  detail.total_allocated = total;
  detail.device = device;
  trace.memory.push_back(detail);
  trace.events.start.push_back(0);
  trace.events.duration.push_back(0);
  trace.events.name.push_back(trace.names.intern("[memory]"));
  trace.events.lane.push_back(0);
  trace.events.correlation.push_back(0);
  trace.events.detail.push_back(0);
  trace.events.external_id.push_back(-1);
  trace.events.kind.push_back(trace::EventKind::kMemory);
  return trace;
}

TEST(MemoryCurves, KeepsTheHighestPeaksInOrderOfRank) {
  trace::Run run;
  for (std::int32_t r = 0; r < 5; ++r) run.ranks.push_back(rank_with(r, r * 37 % 5 + 1));
  const std::vector<RankCurve> kept = memory_curves(run, 2);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_LT(kept[0].rank, kept[1].rank);
  EXPECT_EQ(kept[0].curve.peak.bytes + kept[1].curve.peak.bytes, 9);
}

TEST(MemoryCurves, ARankWithoutDevicesHasACurveOfItsHostMemory) {
  trace::Run run;
  run.ranks.push_back(rank_with(0, 100, -1));
  const std::vector<RankCurve> kept = memory_curves(run);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].curve.device, -1);
  EXPECT_EQ(kept[0].curve.peak.bytes, 100);
}

}  // namespace
}  // namespace weft::report
