// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/heat_map.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

using diagnose::CollectiveSkew;

/// Makes a collective from the lateness of ranks 0, 1 ...; -1 means that the rank takes no part.
CollectiveSkew skew(std::vector<Nanos> late_by) {
  CollectiveSkew made;
  for (std::size_t r = 0; r < late_by.size(); ++r) {
    if (late_by[r] < 0) continue;
    made.ranks.push_back(static_cast<std::int32_t>(r));
    made.late_by.push_back(late_by[r]);
    if (late_by[r] < made.last_arrival) continue;
    made.last_arrival = late_by[r];
    made.last_rank = static_cast<std::int32_t>(r);
  }
  return made;
}

TEST(HeatMap, HasARowForEachRankAndAColumnForEachCollective) {
  const HeatMap map = make_heat_map({skew({0, 5, -1}), skew({7, 0, 3})});
  ASSERT_EQ(map.columns.size(), 2u);
  ASSERT_EQ(map.rows.size(), 3u);
  EXPECT_EQ(map.rows[0].late_by, (std::vector<Nanos>{0, 7}));
  EXPECT_EQ(map.rows[1].late_by, (std::vector<Nanos>{5, 0}));
  EXPECT_EQ(map.rows[2].late_by, (std::vector<Nanos>{-1, 3}));
}

TEST(HeatMap, SharedColumnsShowTheWorstCollective) {
  const HeatMap map =
      make_heat_map({skew({0, 5}), skew({9, 0}), skew({0, 1}), skew({0, 2})}, {2, 48});
  ASSERT_EQ(map.columns.size(), 2u);
  EXPECT_EQ(map.columns[0].count, 2);
  EXPECT_EQ(map.columns[0].worst, 1u);
  EXPECT_EQ(map.columns[1].worst, 3u);
  EXPECT_EQ(map.rows[0].late_by, (std::vector<Nanos>{9, 0}));
  EXPECT_EQ(map.rows[1].late_by, (std::vector<Nanos>{5, 2}));
}

TEST(HeatMap, KeepsTheRanksThatOthersWaitFor) {
  const HeatMap map = make_heat_map({skew({0, 0, 8, 1}), skew({0, 6, 0, 1})}, {2000, 2});
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_EQ(map.rows[0].rank, 1);
  EXPECT_EQ(map.rows[1].rank, 2);
}

TEST(HeatMap, IsEmptyWithoutCollectives) {
  EXPECT_TRUE(make_heat_map({}).columns.empty());
  EXPECT_TRUE(make_heat_map({}).rows.empty());
}

}  // namespace
}  // namespace weft::report
