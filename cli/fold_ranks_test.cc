// SPDX-License-Identifier: Apache-2.0
#include "cli/fold_ranks.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(FoldRanks, RanksWithinTwoPercentShareARow) {
  const auto rows = fold_ranks({{100, 5}, {101, 5}, {103, 5}, {99, 5}, {100, 4}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].index, 0u);
  EXPECT_EQ(rows[0].alike, 2u);
  EXPECT_EQ(rows[1].index, 2u);
  EXPECT_EQ(rows[2].index, 4u);
  EXPECT_EQ(rank_cell(8, rows[0]), "8 +2");
  EXPECT_EQ(rank_cell(8, rows[1]), "8");
}

TEST(FoldRanks, AColumnOfZerosSeparatesNoRanks) {
  EXPECT_EQ(fold_ranks({{0, 0}, {0, 0}, {0, 0}}).size(), 1u);
  EXPECT_TRUE(fold_ranks({}).empty());
}

TEST(FoldRanks, RowsWithFewestAndMostRanksAreKept) {
  const std::vector<FoldedRank> rows{{0, 90}, {1, 50}, {2, 30}, {5, 0}, {7, 20}, {9, 1}};
  const auto kept = rare_and_common(rows, 4);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[0].index, 0u);
  EXPECT_EQ(kept[1].index, 1u);
  EXPECT_EQ(kept[2].index, 5u);
  EXPECT_EQ(kept[3].index, 9u);
  EXPECT_EQ(folding_note(kept, 197),
            "  +N: N more ranks behave alike; and 52 more ranks (--all shows them)\n");
  EXPECT_EQ(folding_note({{0, 0}}, 1), "");
  EXPECT_EQ(folding_note({{0, 0}}, 5), "  ... and 4 more ranks (--all shows them)\n");
}

}  // namespace
}  // namespace weft::cli
