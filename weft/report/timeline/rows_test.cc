// SPDX-License-Identifier: Apache-2.0
#include "weft/report/timeline/rows.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weft::report {
namespace {

std::vector<std::uint32_t> depths(const std::vector<LaneSpan>& spans) {
  std::map<std::uint32_t, std::uint32_t> by_event;
  for (const LaneSpan& span : spans) by_event[span.event] = span.depth;
  std::vector<std::uint32_t> found;
  for (const auto& [event, depth] : by_event) found.push_back(depth);
  return found;
}

TEST(TimelineRows, CallsAreBelowTheCallsThatEncloseThem) {
  std::vector<LaneSpan> spans = {{0, 100, 0}, {10, 20, 1}, {12, 5, 2}, {40, 10, 3}, {100, 5, 4}};
  nest(spans);
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{0, 1, 2, 1, 0}));
}

TEST(TimelineRows, LongestOfSpansWithTheSameStartEnclosesTheOthers) {
  std::vector<LaneSpan> spans = {{0, 10, 0}, {0, 100, 1}};
  nest(spans);
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{1, 0}));
}

TEST(TimelineRows, SpanAcrossTwoMarksDoesNotPushLaterMarksDown) {
  // Marks 0, 3 and 6 touch each other. Spans 2 and 5 begin in a mark and end in the next one.
  const std::vector<LaneSpan> made = {{0, 98, 0},   {10, 20, 1},  {90, 20, 2},  {100, 98, 3},
                                      {120, 20, 4}, {190, 20, 5}, {200, 98, 6}, {220, 20, 7}};
  std::vector<LaneSpan> spans = made;
  nest(spans);
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{0, 1, 1, 2, 3, 3, 4, 5}));
  spans = made;
  nest_below_marks(spans, {0, 3, 6});
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{0, 1, 1, 0, 1, 1, 0, 1}));
}

TEST(TimelineRows, MarksThatContainTheirSpansAreNestedAsUsual) {
  std::vector<LaneSpan> spans = {
      {0, 300, 0}, {0, 100, 1}, {10, 20, 2}, {100, 100, 3}, {150, 50, 4}};
  nest_below_marks(spans, {1, 3});
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{0, 1, 2, 1, 2}));
}

TEST(TimelineRows, StreamsUseTheFirstFreeRow) {
  std::vector<LaneSpan> spans = {{0, 100, 0}, {50, 100, 1}, {100, 10, 2}, {120, 5, 3}};
  stack(spans);
  EXPECT_EQ(depths(spans), (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST(TimelineRows, NoTwoSpansOfARowOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<LaneSpan> made;
    for (std::uint32_t i = 0; i < 200; ++i) {
      made.push_back({static_cast<Nanos>(random() % 1000), static_cast<Nanos>(random() % 60), i});
    }
    for (const auto lay_out : {nest, stack}) {
      std::vector<LaneSpan> spans = made;
      lay_out(spans);
      ASSERT_EQ(spans.size(), made.size());
      std::map<std::uint32_t, Nanos> row_end;
      for (const LaneSpan& span : spans) {
        const auto [it, is_new] = row_end.try_emplace(span.depth, INT64_MIN);
        ASSERT_LE(it->second, span.start) << "row " << span.depth;
        it->second = span.end();
      }
    }
  }
}

}  // namespace
}  // namespace weft::report
