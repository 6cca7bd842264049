// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/relay.h"

#include <gtest/gtest.h>

#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {
namespace {

constexpr Picos kNoBar = std::int64_t{1} << 60;

Link costly_messages() {
  Link link;
  link.step = 0;
  link.message = 2'000'000;
  return link;
}

/// 17 rows and 5 columns do not divide evenly over 8 devices. If each message moved one axis from
/// the rows to the columns, some device would hold 9 rows of 2 columns: 18 elements. But in the
/// source and in the target, no device holds more than 17.
TEST(Relay, NeedsThreeMessagesIfMovingDigitsNeedsFour) {
  for (const auto& [from, to] : {std::pair{"x+y+z,-", "-,x+y+z"}, std::pair{"y+x+z,-", "-,y+x+z"},
                                 std::pair{"z+y+x,-", "-,z+y+x"}}) {
    const Problem problem = parsed("x=2,y=2,z=2", "17,5", from, to, "", "", SplitRule::kCeilNested);
    PlannerOptions options;
    options.link = costly_messages();
    const auto plan = make_plan(problem, options);
    ASSERT_TRUE(plan.has_value());
    EXPECT_LT(plan->time, 4 * options.link.message) << from;
    EXPECT_EQ(plan->peak, 17) << from;
    const auto moved = rounds(problem, *plan);
    EXPECT_TRUE(replay(problem, moved, plan->last(problem)));
    EXPECT_TRUE(run_oracle(problem, moved, plan->last(problem)));
  }
}

TEST(Relay, RelayPlansAreCorrectAndFit) {
  int found = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Problem problem = random_problem(seed, {false, false, seed % 2 == 1});
    const std::int64_t memory = std::max(problem.source.largest(), problem.target.largest());
    OverlapCache overlaps;
    const auto plan = relay_plan(problem, costly_messages(), memory, kNoBar, overlaps);
    if (!plan) continue;
    ++found;
    EXPECT_LE(plan->peak, memory) << "seed " << seed;
    for (const Step& step : plan->steps) EXPECT_LE(step.traffic.peers_max, 1) << "seed " << seed;
    const auto moved = rounds(problem, *plan);
    EXPECT_TRUE(replay(problem, moved, plan->last(problem))) << "seed " << seed;
    EXPECT_TRUE(run_oracle(problem, moved, plan->last(problem))) << "seed " << seed;
  }
  EXPECT_GT(found, 20);
}

TEST(Relay, IsNotUsedForCopiesOrSummands) {
  OverlapCache overlaps;
  const Link link = costly_messages();
  const Problem copies = parsed("x=2,y=4", "8,8", "y,-", "-,y");
  EXPECT_FALSE(relay_plan(copies, link, 1000, kNoBar, overlaps));
  const Problem summands = parsed("x=2,y=4", "8,8", "y,-", "-,x+y", "x");
  EXPECT_FALSE(relay_plan(summands, link, 1000, kNoBar, overlaps));
}

}  // namespace
}  // namespace weft::reshard
