// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/device_clock.h"

#include <gtest/gtest.h>

namespace weft::trace {
namespace {

/// A hundred launches, each followed by its kernel after `gap`.
RankTrace made_trace(Nanos gap) {
  RankTrace trace;
  trace.rank = 0;
  trace.lanes.resize(2);
  trace.lanes[1].on_device = true;
  const auto add = [&](EventKind kind, std::uint32_t lane, Nanos start, std::uint32_t correlation) {
    Events& e = trace.events;
    e.start.push_back(start);
    e.duration.push_back(kMicrosecond);
    e.name.push_back(trace.names.intern("x"));
    e.lane.push_back(lane);
    e.correlation.push_back(correlation);
    e.detail.push_back(kNone);
    e.external_id.push_back(-1);
    e.kind.push_back(kind);
  };
  for (std::uint32_t i = 1; i <= 100; ++i) {
    add(EventKind::kRuntime, 0, i * kMillisecond, i);
    add(EventKind::kKernel, 1, i * kMillisecond + gap, i);
  }
  return trace;
}

TEST(DeviceClock, WorkAfterItsLaunchIsNotMoved) {
  EXPECT_EQ(device_clock_lag(made_trace(5 * kMicrosecond)), 0);
}

TEST(DeviceClock, WorkBeforeItsLaunchIsMovedBehindIt) {
  trace::Run run;
  run.ranks.push_back(made_trace(-70 * kMicrosecond));
  Diagnostics diagnostics;
  correct_device_clocks(run, diagnostics);
  EXPECT_EQ(run.ranks[0].events.start[1] - run.ranks[0].events.start[0], 2 * kMicrosecond);
  EXPECT_EQ(run.ranks[0].events.start[0], kMillisecond);  // host events do not move
  EXPECT_EQ(diagnostics.count_of("device-clock-behind"), 1);
}

TEST(DeviceClock, ABrokenRecordingIsNotMoved) {
  EXPECT_EQ(device_clock_lag(made_trace(-kSecond)), 0);
}

}  // namespace
}  // namespace weft::trace
