// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/finding_view.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"

namespace weft::report {
namespace {

using graph::kNoId;

/// Two ranks, two steps of 16 us, one collective.
predict::Job job() {
  constexpr std::string_view kText = R"(
    lane r0 stream 0
    lane r1 stream 1
    lane net link -
    step 3
    a: kernel r0 10us at=0us took=10us
    b: kernel r1 2us at=0us took=2us
    x: arrive r0 0 at=10us took=6us after a+0us
    y: arrive r1 0 at=2us took=14us after b+0us
    t: transfer net 6us after x:collective, y:collective
    step 4
    c: kernel r0 4us at=16us took=4us after t:collective
    d: kernel r0 12us at=20us took=12us after c+0us
    all: collective allreduce ranks=2 transfer=t arrivals=x,y
  )";
  auto graph = graph::parse_text(kText);
  EXPECT_TRUE(graph) << graph.error().text();
  predict::Job made;
  made.graph = std::move(*graph);
  return made;
}

diagnose::Finding finding(std::int32_t rank, std::int64_t step,
                          std::vector<std::pair<graph::OpId, Nanos>> durations,
                          std::vector<std::pair<graph::EdgeId, Nanos>> delays = {}) {
  diagnose::Finding made;
  made.rank = rank;
  made.step = step;
  made.removal.durations = std::move(durations);
  made.removal.delays = std::move(delays);
  return made;
}

TEST(FindingView, ShowsTheOpThatLosesMostInTheStepOfTheFinding) {
  const FindingView view = find_view(job(), finding(0, 4, {{0, 0}, {5, 0}, {6, 0}}));
  EXPECT_EQ(view.op, 6u);
  EXPECT_LE(view.start, 20'000);
  EXPECT_GE(view.end, 32'000);
}

TEST(FindingView, ShowsATransferAtTheArrivalOfTheRank) {
  const FindingView view = find_view(job(), finding(1, 3, {{4, 0}}));
  EXPECT_EQ(view.op, 3u);
  EXPECT_LE(view.start, 2'000);
  EXPECT_GE(view.end, 16'000);
}

TEST(FindingView, ShowsThePauseBeforeAnOp) {
  predict::Job made = job();
  const graph::EdgeId edge = made.graph.first_edge[6];
  made.graph.edges[edge].delay = 4'000;
  // Op 6 starts at 20 us, so the pause lasts from 16 us to 20 us.
  const FindingView view = find_view(made, finding(0, 4, {{6, 11'000}}, {{edge, 0}}));
  EXPECT_EQ(view.op, kNoId);
  EXPECT_EQ(view.start, 15'000);
  EXPECT_EQ(view.end, 21'000);
}

TEST(FindingView, ShowsTheSurroundingsOfShortOps) {
  predict::Job made = job();
  made.graph.ops.recorded_duration[5] = 10;
  const FindingView view = find_view(made, finding(0, 4, {{5, 0}}));
  EXPECT_EQ(view.op, 5u);
  EXPECT_GE(view.end - view.start, 900);
}

TEST(FindingView, ShowsTheStepIfThereIsNoOp) {
  const FindingView view = find_view(job(), finding(0, 4, {}));
  EXPECT_EQ(view.op, kNoId);
  EXPECT_EQ(view.start, 16'000);
  EXPECT_EQ(view.end, 32'000);
}

TEST(FindingView, ShowsNothingWithoutOpAndStep) {
  EXPECT_EQ(find_view(job(), finding(-1, -1, {})).start, -1);
}

}  // namespace
}  // namespace weft::report
