// SPDX-License-Identifier: Apache-2.0
#include "weft/base/sort_runs.h"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

TEST(SortRuns, SortsAnyNumberOfRuns) {
  std::mt19937 random(3);
  for (const int runs : {0, 1, 2, 3, 8, 9, 40}) {
    std::vector<int> items;
    for (int r = 0; r < runs; ++r) {
      std::vector<int> run;
      for (int i = 0; i < 25; ++i) run.push_back(static_cast<int>(random() % 1000));
      std::sort(run.begin(), run.end());
      items.insert(items.end(), run.begin(), run.end());
    }
    std::vector<int> expected = items;
    std::sort(expected.begin(), expected.end());
    sort_runs(items);
    EXPECT_EQ(items, expected) << runs << " runs";
    sort_runs(items, std::greater<>());
    EXPECT_TRUE(std::is_sorted(items.rbegin(), items.rend()));
  }
}

}  // namespace
}  // namespace weft
