// SPDX-License-Identifier: Apache-2.0
#include "weft/report/timeline/data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weft/predict/steps.h"
#include "weft/trace/made_run.h"

namespace weft::report {
namespace {

predict::Job example() {
  Diagnostics diagnostics;
  auto job =
      predict::open_job({std::string(WEFT_SOURCE_DIR) + "/examples/resnet50-w4"}, {}, diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return std::move(*job);
}

/// Two ranks. Each has a call that launches a kernel, and an all-reduce at which rank 1 arrives
/// late.
predict::Job small_job() {
  trace::Run run;
  run.world = 2;
  for (std::int32_t r = 0; r < 2; ++r) {
    trace::MadeRank rank(r, 2);
    rank.host("aten::mm", 1'000, 5'000);
    rank.runtime(2'000, 1'000, 1);
    rank.runtime(4'000, 1'000, 2);
    rank.kernel("gemm", 20'000, 10'000, 1, 7);
    const Nanos start = r == 0 ? 21'000 : 40'000;
    const std::uint32_t event = rank.kernel(trace::kAllReduceKernel, 90'000, 90'000 - start, 2, 20);
    rank.describe(event, "allreduce", 1000);
    rank.trace.steps.push_back({4, 0, 0, 10'000});
    rank.trace.facts.device_events = true;
    run.ranks.push_back(std::move(rank.trace));
  }
  Diagnostics diagnostics;
  auto job = predict::make_job(std::move(run), diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return std::move(*job);
}

std::string name(const Timeline& timeline, std::uint32_t span) {
  return std::string(timeline.names.text(timeline.labels[timeline.spans.label[span]].name));
}

const TimelineLane& lane(const Timeline& timeline, std::uint32_t span) {
  const auto row = std::find_if(timeline.rows.begin(), timeline.rows.end(),
                                [&](const TimelineRow& r) { return span < r.last; });
  return timeline.lanes[row->lane];
}

TEST(Timeline, RowsHoldSpansInOrderWithoutOverlap) {
  const Timeline timeline = make_timeline(example(), nullptr);
  std::uint32_t next = 0;
  for (const TimelineRow& row : timeline.rows) {
    ASSERT_EQ(row.first, next);
    for (std::uint32_t i = row.first + 1; i < row.last; ++i) {
      ASSERT_GE(timeline.spans.start[i], timeline.spans.end(i - 1));
    }
    next = row.last;
  }
  EXPECT_EQ(next, timeline.spans.size());
}

TEST(Timeline, StepsOfAThreadShareARowEvenIfTheOptimizerOverlapsWithTheirMarks) {
  trace::Run run;
  trace::MadeRank rank(0, 1);
  for (int step = 0; step < 4; ++step) {
    const Nanos start = 100'000 * step;
    rank.annotation("ProfilerStep#" + std::to_string(step), start, 99'000);
    rank.host("aten::mm", start + 10'000, 50'000);
    // The optimizer ends in the next step.
    rank.annotation("Optimizer.step#SGD.step", start + 90'000, 20'000);
    rank.trace.steps.push_back({step, 0, start, start + 99'000});
  }
  run.ranks.push_back(std::move(rank.trace));
  Diagnostics diagnostics;
  auto job = predict::make_job(std::move(run), diagnostics);
  ASSERT_TRUE(job) << job.error().text();
  const Timeline timeline = make_timeline(*job, nullptr);
  ASSERT_EQ(timeline.rows.size(), 2U);
  EXPECT_EQ(timeline.rows[0].last - timeline.rows[0].first, 4U);
  EXPECT_EQ(name(timeline, timeline.rows[0].first), "ProfilerStep#0");
}

TEST(Timeline, EveryEventWithADurationIsDrawn) {
  const predict::Job job = example();
  std::int64_t events = 0;
  for (const trace::RankTrace& rank : job.run.ranks) {
    for (const trace::EventKind kind : rank.events.kind) {
      events += kind != trace::EventKind::kSync && kind != trace::EventKind::kMemory;
    }
  }
  const Timeline timeline = make_timeline(job, nullptr);
  EXPECT_EQ(timeline.recorded_spans, events);
  EXPECT_EQ(static_cast<std::int64_t>(timeline.spans.size()), events);
}

TEST(Timeline, SpansOfDeviceWorkHaveTheTimesOfTheirOps) {
  const predict::Job job = example();
  const Timeline timeline = make_timeline(job, nullptr);
  std::size_t seen = 0;
  for (graph::OpId op = 0; op < job.graph.size(); ++op) {
    const std::uint32_t span = timeline.span_of_op[op];
    if (span == kNoSpan || job.graph.ops.kind[op] != graph::OpKind::kKernel) continue;
    ASSERT_EQ(timeline.spans.start[span], job.graph.ops.recorded_start[op]);
    ASSERT_EQ(name(timeline, span), job.graph.name(op));
    ASSERT_EQ(timeline.spans.step[span], job.graph.ops.step[op]);
    ASSERT_EQ(timeline.ranks[lane(timeline, span).rank].rank, job.graph.rank(op));
    ++seen;
  }
  EXPECT_GT(seen, 10'000u);
}

TEST(Timeline, LaunchesLeadFromTheCallToItsWork) {
  const Timeline timeline = make_timeline(small_job(), nullptr);
  ASSERT_EQ(timeline.launches.size(), 4u);
  for (const TimelineLaunch& launch : timeline.launches) {
    EXPECT_EQ(name(timeline, launch.call), "cudaLaunchKernel");
    EXPECT_EQ(lane(timeline, launch.call).group, RowGroup::kHost);
    EXPECT_EQ(lane(timeline, launch.work).group, RowGroup::kStream);
    EXPECT_EQ(lane(timeline, launch.call).rank, lane(timeline, launch.work).rank);
  }
}

TEST(Timeline, ACollectiveKnowsItsMembersAndItsLastArrival) {
  const Timeline timeline = make_timeline(small_job(), nullptr);
  ASSERT_EQ(timeline.collectives.size(), 1u);
  const TimelineCollective& collective = timeline.collectives[0];
  EXPECT_EQ(collective.kind, "allreduce");
  EXPECT_EQ(collective.bytes, 4000);
  ASSERT_EQ(collective.members.size(), 2u);
  const Nanos late = timeline.spans.start[collective.members[1]];
  EXPECT_EQ(late - timeline.spans.start[collective.members[0]], 19'000);
  EXPECT_EQ(collective.last_arrival, late);
}

TEST(Timeline, RanksWithDifferentWaitingAreNotSimilar) {
  EXPECT_EQ(make_timeline(small_job(), nullptr).ranks[1].like, 1u);
  predict::Job same = small_job();
  same.run.ranks[1].events.start = same.run.ranks[0].events.start;
  same.run.ranks[1].events.duration = same.run.ranks[0].events.duration;
  const auto transfer = same.graph.collectives[0].transfer;
  same.graph.ops.recorded_start[transfer] = 0;
  EXPECT_EQ(make_timeline(same, nullptr).ranks[1].like, 0u);
}

TEST(Timeline, PathPiecesLieOnTheLaneOfTheirOp) {
  const predict::Job job = small_job();
  const graph::Collective& collective = job.graph.collectives[0];
  const graph::OpId late = collective.arrivals[1];
  diagnose::CriticalPath path;
  const Nanos arrival = job.graph.ops.recorded_start[late];
  diagnose::PathPiece gap;
  gap.op = late;
  gap.is_gap = true;
  gap.rank = 1;
  gap.lane = job.graph.ops.lane[late];
  gap.recorded_start = job.graph.origin + arrival - 100;
  gap.recorded_end = job.graph.origin + arrival;
  diagnose::PathPiece transfer = gap;
  transfer.op = collective.transfer;
  transfer.is_gap = false;
  transfer.lane = job.graph.ops.lane[collective.transfer];
  transfer.recorded_start = gap.recorded_end - 10;
  transfer.recorded_end = gap.recorded_end + 50'000;
  path.pieces = {gap, transfer};
  const Timeline timeline = make_timeline(job, &path);
  ASSERT_EQ(timeline.path.size(), 2u);
  EXPECT_EQ(timeline.path[0].span, kNoSpan);
  EXPECT_EQ(timeline.lanes[timeline.path[0].lane].name, "stream 20");
  EXPECT_EQ(timeline.path[1].span, timeline.span_of_op[late]);
  EXPECT_EQ(timeline.lanes[timeline.path[1].lane].rank, 1u);
  EXPECT_EQ(timeline.path[0].end, arrival);
  EXPECT_EQ(timeline.path[1].start, arrival) << "never back in time";
  EXPECT_EQ(timeline.path[1].end, arrival + 50'000);
}

TEST(Timeline, StepsAreEndToEndAndEndWithTheirSlowestRank) {
  const predict::Job job = example();
  const Timeline timeline = make_timeline(job, nullptr);
  const predict::StepTimes steps = predict::recorded_steps(job.graph);
  ASSERT_EQ(timeline.steps.size(), steps.steps.size());
  for (std::size_t s = 0; s < timeline.steps.size(); ++s) {
    Nanos last = 0;
    for (const auto& ends : steps.end) last = std::max(last, ends[s]);
    EXPECT_EQ(timeline.steps[s].end, last);
    if (s == 0) continue;
    EXPECT_EQ(timeline.steps[s].start, timeline.steps[s - 1].end);
  }
}

Nanos busy_of_class(const Timeline& timeline, SpanClass span_class) {
  Nanos sum = 0;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    if (timeline.labels[timeline.spans.label[i]].span_class == span_class) {
      sum += timeline.spans.busy[i];
    }
  }
  return sum;
}

TEST(Timeline, ThinningMergesHostSpansFirstAndKeepsTheirTime) {
  const predict::Job job = example();
  const Timeline whole = make_timeline(job, nullptr);
  TimelineOptions options;
  options.most_spans = 40'000;
  const Timeline thin = make_timeline(job, nullptr, options);
  EXPECT_LE(thin.spans.size(), options.most_spans);
  EXPECT_GT(thin.spans.size(), options.most_spans / 2);
  EXPECT_EQ(thin.recorded_spans, whole.recorded_spans);
  Nanos busy[2] = {0, 0};
  for (const Nanos b : whole.spans.busy) busy[0] += b;
  for (const Nanos b : thin.spans.busy) busy[1] += b;
  EXPECT_EQ(busy[0], busy[1]);
  EXPECT_EQ(busy_of_class(whole, SpanClass::kCompute), busy_of_class(thin, SpanClass::kCompute));
  for (const TimelineRow& row : thin.rows) {
    if (thin.lanes[row.lane].group == RowGroup::kHost) continue;
    for (std::uint32_t i = row.first; i < row.last; ++i) ASSERT_EQ(thin.spans.count[i], 1u);
  }
}

TEST(Timeline, ThinningKeepsCollectivesAndDetailWindows) {
  const predict::Job job = example();
  TimelineOptions options;
  options.most_spans = 2'000;
  options.detail = {{1, 100 * kMillisecond, 105 * kMillisecond}};
  const Timeline timeline = make_timeline(job, nullptr, options);
  for (const TimelineCollective& collective : timeline.collectives) {
    for (const std::uint32_t span : collective.members) ASSERT_EQ(timeline.spans.count[span], 1u);
  }
  std::size_t inside = 0;
  for (std::uint32_t i = 0; i < timeline.spans.size(); ++i) {
    if (timeline.ranks[lane(timeline, i).rank].rank != 1) continue;
    if (timeline.spans.start[i] < options.detail[0].start) continue;
    if (timeline.spans.start[i] >= options.detail[0].end) continue;
    ASSERT_EQ(timeline.spans.count[i], 1u);
    ++inside;
  }
  EXPECT_GT(inside, 100u);
}

}  // namespace
}  // namespace weft::report
