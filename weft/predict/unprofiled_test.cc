// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/unprofiled.h"

#include <gtest/gtest.h>

#include "weft/predict/summary.h"

namespace weft::predict {
namespace {

TEST(Unprofiled, CountsTheLongestRankAndNotTheFirstSteps) {
  const auto found = unprofiled_steps(
      {{{1, 9'000}, {3, 100}, {4, 100}, {5, 120}}, {{1, 9'000}, {3, 110}, {4, 90}, {6, 140}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 4);
  EXPECT_EQ(found->median, 115);  // of 110, 100, 120 and 140
  EXPECT_EQ(found->low, 100);
  EXPECT_EQ(found->high, 140);
}

TEST(Unprofiled, FewStepsTellNothing) {
  const std::vector<std::vector<trace::UnprofiledStep>> few = {
      {{1, 100}, {2, 100}, {3, 100}, {4, 100}}};
  EXPECT_FALSE(unprofiled_steps(few));
  EXPECT_FALSE(unprofiled_steps(trace::Run()));
}

TEST(Unprofiled, BaselineFarFromThemIsReported) {
  ReplaySummary summary;
  summary.prediction.baseline.step = 965;
  summary.prediction.baseline.low = 460;
  summary.prediction.baseline.high = 1'469;
  Diagnostics diagnostics;
  warn_untypical(summary, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << "unknown steps are no reason to warn";
  summary.unprofiled = UnprofiledSteps{30, 500, 480, 520};
  warn_untypical(summary, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << "within the error bar";
  summary.unprofiled = UnprofiledSteps{30, 344, 330, 360};
  warn_untypical(summary, diagnostics);
  EXPECT_EQ(diagnostics.count_of("untypical-steps"), 1);
  summary.unprofiled->median = 1'600;
  summary.prediction.baseline.step = 1'468;
  EXPECT_TRUE(is_typical(*summary.unprofiled, summary.prediction.baseline)) << "within 15 %";
}

}  // namespace
}  // namespace weft::predict
