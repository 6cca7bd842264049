// SPDX-License-Identifier: Apache-2.0
// Plans problems from the tests of other projects. The test is skipped unless the case file is in
// the folder `shared` beside this checkout.
#include <gtest/gtest.h>

#include <filesystem>

#include "weft/reshard/check/outcome.h"
#include "weft/reshard/search/bounds.h"

namespace weft::reshard {
namespace {

namespace fs = std::filesystem;
const fs::path kCases = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "reshard" / "cases.json";

TEST(SharedCases, EachHasACorrectPlanOrIsRefusedForAKnownReason) {
  if (!fs::exists(kCases))
    GTEST_SKIP() << "there is no case file in the folder 'shared' beside this checkout";
  const auto cases = read_cases(kCases.string());
  ASSERT_TRUE(cases) << cases.error().text();
  for (const Case& item : *cases) {
    PlannerOptions options;
    options.link.step = 0;
    const Outcome outcome = plan_and_check(item, options, 0);
    EXPECT_NE(outcome.status, Outcome::Status::kWrong) << item.id << ": " << outcome.reason;
    if (outcome.status == Outcome::Status::kRefused) {
      EXPECT_EQ(outcome.reason.find("two different reductions"), 0u) << item.id;
      continue;
    }
    const Problem& problem = *item.problem;
    EXPECT_LE(outcome.plan.peak, bounds(problem).memory) << item.id;
    if (!problem.source.partial() && !problem.target.partial()) {
      EXPECT_EQ(received(outcome.plan), bounds(problem).recv_max) << item.id;
    }
  }
}

}  // namespace
}  // namespace weft::reshard
