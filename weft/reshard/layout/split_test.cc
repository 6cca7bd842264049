// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/split.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::reshard {
namespace {

constexpr std::array kRules = {SplitRule::kCeilFlat, SplitRule::kCeilNested, SplitRule::kBalanced};

std::vector<std::int64_t> lengths(std::int64_t n, std::vector<std::int64_t> radices,
                                  SplitRule rule) {
  std::int64_t count = 1;
  for (const std::int64_t radix : radices) count *= radix;
  std::vector<std::int64_t> found;
  for (std::int64_t index = 0; index < count; ++index) {
    std::vector<Digit> digits;
    std::int64_t rest = index, below = count;
    for (const std::int64_t radix : radices) {
      below /= radix;
      digits.push_back({rest / below, radix});
      rest %= below;
    }
    found.push_back(split({0, n}, digits, rule).length());
  }
  return found;
}

using Lengths = std::vector<std::int64_t>;

TEST(Split, RulesDifferAsTheirFrameworksDo) {
  EXPECT_EQ(lengths(5, {4}, SplitRule::kCeilFlat), (Lengths{2, 2, 1, 0}));
  EXPECT_EQ(lengths(5, {2, 2}, SplitRule::kCeilFlat), (Lengths{2, 2, 1, 0}));
  EXPECT_EQ(lengths(5, {2, 2}, SplitRule::kCeilNested), (Lengths{2, 1, 1, 1}));
  EXPECT_EQ(lengths(13, {4}, SplitRule::kBalanced), (Lengths{4, 3, 3, 3}));
  EXPECT_EQ(lengths(6, {2, 2}, SplitRule::kBalanced), (Lengths{2, 1, 2, 1}));
}

TEST(Split, LengthsAddUpToTheDimensionWithEveryRule) {
  for (const SplitRule rule : kRules) {
    for (std::int64_t n = 0; n < 40; ++n) {
      for (const Lengths& radices : {Lengths{3}, Lengths{2, 3}, Lengths{4, 2, 2}}) {
        std::int64_t sum = 0;
        for (const std::int64_t length : lengths(n, radices, rule)) sum += length;
        EXPECT_EQ(sum, n);
      }
    }
  }
}

TEST(Split, RulesAgreeIfTheSizeIsDivisible) {
  for (const SplitRule rule : kRules) {
    EXPECT_EQ(lengths(24, {2, 3}, rule), (Lengths{4, 4, 4, 4, 4, 4}));
  }
}

}  // namespace
}  // namespace weft::reshard
