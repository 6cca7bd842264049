// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/layers.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

namespace weft::pipeline::recorded {
namespace {

std::vector<NameId> names(std::string_view letters) { return {letters.begin(), letters.end()}; }

TEST(LongestRepeat, FindsTheShortestPeriodOfWhatCoversMost) {
  EXPECT_EQ(longest_repeat(names("xabcabcabcy")), (Repeat{1, 3, 3}));
  EXPECT_EQ(longest_repeat(names("aaaa")), (Repeat{0, 1, 4}));
  EXPECT_EQ(longest_repeat(names("aabaab")), (Repeat{0, 3, 2}));
}

TEST(LongestRepeat, ThereIsNoneIfNothingRepeats) {
  EXPECT_FALSE(longest_repeat(names("abcd")));
  EXPECT_FALSE(longest_repeat(names("")));
}

TEST(LongestRepeat, CoversAsMuchAsTryingAllDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<NameId> list(random() % 14);
    for (NameId& name : list) name = static_cast<NameId>(random() % 3);
    std::size_t most = 0;
    for (std::size_t begin = 0; begin < list.size(); ++begin) {
      for (std::size_t period = 1; begin + 2 * period <= list.size(); ++period) {
        std::size_t end = begin + period;
        while (end < list.size() && list[end] == list[end - period]) ++end;
        const std::size_t count = (end - begin) / period;
        if (count >= 2) most = std::max(most, count * period);
      }
    }
    const auto found = longest_repeat(list);
    EXPECT_EQ(found ? found->count * found->period : 0, most);
  }
}

using Starts = std::vector<std::vector<std::size_t>>;

TEST(LayerStarts, WhatStandsBeforeAndBehindBelongsToTheLayersAtTheEnds) {
  EXPECT_EQ(layer_starts({names("eabcabc"), names("abcabchl")}), (Starts{{0, 4}, {0, 3}}));
}

TEST(LayerStarts, StagesOfOneLayerAreFoundByTheOthers) {
  EXPECT_EQ(layer_starts({names("eabc"), names("abc"), names("abch")}), (Starts{{0}, {0}, {0}}));
}

TEST(LayerStarts, ARotatedRepeatIsRotatedBack) {
  // "cab" repeats from the first name on, but the second stage begins with "abc".
  EXPECT_EQ(layer_starts({names("cabcabc"), names("abcabc")}), (Starts{{0, 4}, {0, 3}}));
}

TEST(LayerStarts, AreUnknownIfAStageBeginsInsideALayer) {
  EXPECT_FALSE(layer_starts({names("abca"), names("xbcabc"), names("abc")}));
  EXPECT_FALSE(layer_starts({names("ab"), names("cd")}));
}

}  // namespace
}  // namespace weft::pipeline::recorded
