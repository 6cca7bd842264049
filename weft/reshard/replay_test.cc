// SPDX-License-Identifier: Apache-2.0
// A check is worth what it finds: plans that are right pass both checks, plans that were damaged
// fail both.
#include "weft/reshard/replay.h"

#include <gtest/gtest.h>

#include "weft/reshard/planner.h"
#include "weft/reshard/random_problem.h"

namespace weft::reshard {
namespace {

TEST(Replay, BothChecksFindEveryTransferThatIsLeftOut) {
  int damaged = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Problem problem = random_problem(seed, {.partial = seed % 2 == 0});
    PlannerOptions options;
    options.link.message = seed % 3 == 0 ? 2'000'000 : 0;
    const auto plan = make_plan(problem, options);
    ASSERT_TRUE(plan) << seed;
    const std::vector<Round> whole = rounds(problem, *plan);
    const Layout& last = plan->last(problem);
    ASSERT_TRUE(replay(problem, whole, last)) << seed;
    ASSERT_TRUE(run_oracle(problem, whole, last)) << seed;
    for (std::size_t round = 0; round < whole.size(); ++round) {
      std::vector<Round> less = whole;
      less[round] = {};
      for (std::size_t i = 0; i < whole[round].size(); ++i) {
        if (i != seed % whole[round].size()) less[round].push_back(whole[round][i]);
      }
      EXPECT_FALSE(replay(problem, less, last)) << seed;
      EXPECT_FALSE(run_oracle(problem, less, last)) << seed;
      ++damaged;
    }
  }
  EXPECT_GT(damaged, 50);
}

TEST(Replay, NothingIsSentThatIsNotThere) {
  const Problem problem = parsed("x=2", "4", "x", "-");
  const std::vector<Round> rounds{{{1, 0, {{0, 4}}}, {0, 1, {{0, 2}}}}};
  const auto done = replay(problem, rounds, problem.target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "round 0: device 1 sends [0:4], which it does not hold");
  EXPECT_FALSE(run_oracle(problem, rounds, problem.target));
}

TEST(Replay, NoSummandCountsTwice) {
  const Problem problem = parsed("x=2", "4", "-", "-", "x");
  const Round once{{0, 1, {{0, 4}}, true}, {1, 0, {{0, 4}}, true}};
  EXPECT_TRUE(replay(problem, {once}, problem.target));
  const std::vector<Round> twice{once, {{0, 1, {{0, 4}}, true}}};
  EXPECT_EQ(replay(problem, twice, problem.target).error().message,
            "round 1: device 1 adds a summand of [0:4] twice");
  EXPECT_FALSE(run_oracle(problem, twice, problem.target));
}

TEST(Replay, ARoundSendsWhatWasThereBeforeIt) {
  const Problem problem = parsed("x=2,y=2", "4,4", "x,-", "y,-");
  // 1 and 2 swap halves: neither may send on what it just got.
  const std::vector<Round> swap{{{1, 2, {{0, 2}, {0, 4}}}, {2, 1, {{2, 4}, {0, 4}}}}};
  EXPECT_TRUE(replay(problem, swap, problem.target));
  EXPECT_TRUE(run_oracle(problem, swap, problem.target));
}

}  // namespace
}  // namespace weft::reshard
