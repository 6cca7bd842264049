// SPDX-License-Identifier: Apache-2.0
// Tests the two checks of plans: both checks accept correct plans and reject damaged plans.
#include "weft/reshard/check/replay.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {
namespace {

TEST(Replay, BothChecksFindAMissingTransfer) {
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

TEST(Replay, ADeviceCannotSendWhatItDoesNotHold) {
  const Problem problem = parsed("x=2", "4", "x", "-");
  const std::vector<Round> rounds{{{1, 0, {{0, 4}}}, {0, 1, {{0, 2}}}}};
  const auto done = replay(problem, rounds, problem.target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "round 0: device 1 sends [0:4], which it does not hold");
  EXPECT_FALSE(run_oracle(problem, rounds, problem.target));
}

TEST(Replay, ASummandCannotBeAddedTwice) {
  const Problem problem = parsed("x=2", "4", "-", "-", "x");
  const Round once{{0, 1, {{0, 4}}, true}, {1, 0, {{0, 4}}, true}};
  EXPECT_TRUE(replay(problem, {once}, problem.target));
  const std::vector<Round> twice{once, {{0, 1, {{0, 4}}, true}}};
  EXPECT_EQ(replay(problem, twice, problem.target).error().message,
            "round 1: device 1 adds a summand of [0:4] twice");
  EXPECT_FALSE(run_oracle(problem, twice, problem.target));
}

TEST(Replay, ARoundSendsWhatDevicesHeldBeforeIt) {
  const Problem problem = parsed("x=2,y=2", "4,4", "x,-", "y,-");
  // Devices 1 and 2 swap halves. Each device sends its old half, not the half that it just
  // received.
  const std::vector<Round> swap{{{1, 2, {{0, 2}, {0, 4}}}, {2, 1, {{2, 4}, {0, 4}}}}};
  EXPECT_TRUE(replay(problem, swap, problem.target));
  EXPECT_TRUE(run_oracle(problem, swap, problem.target));
}

/// Devices 0 and 1 hold summands. Device 2 holds none and wants their sum.
Problem sum_elsewhere() {
  const auto from_mesh = parse_mesh("x=2", "0,1"), to_mesh = parse_mesh("z=1", "2");
  const auto from = parse_sharding(*from_mesh, "-", "x"), to = parse_sharding(*to_mesh, "-", "");
  return *make_problem({4}, 4, *from, *to, SplitRule::kCeilFlat);
}

TEST(Replay, TransfersThatReplaceAreStoredBeforeOthersAreAdded) {
  const Problem problem = sum_elsewhere();
  const Transfer base{0, 2, {{0, 4}}, false}, addend{1, 2, {{0, 4}}, true};
  // The box that is added covers two boxes that replace. In the list, it comes before, between or
  // after these boxes.
  const Transfer low{0, 2, {{0, 1}}, false}, high{0, 2, {{1, 4}}, false};
  for (const Round& round : {Round{base, addend}, Round{addend, base}, Round{addend, low, high},
                             Round{low, addend, high}, Round{high, low, addend}}) {
    EXPECT_TRUE(replay(problem, {round}, problem.target));
    EXPECT_TRUE(run_oracle(problem, {round}, problem.target));
  }
  // If both transfers replace, one summand is lost.
  const Round lost{base, {1, 2, {{0, 4}}, false}};
  EXPECT_FALSE(replay(problem, {lost}, problem.target));
  EXPECT_FALSE(run_oracle(problem, {lost}, problem.target));
}

TEST(Replay, ADeviceCannotAddToWhatItDoesNotHold) {
  const Problem problem = sum_elsewhere();
  const Round both{{0, 2, {{0, 4}}, true}, {1, 2, {{0, 4}}, true}};
  const Round rest{{0, 2, {{0, 2}}, false}, {1, 2, {{0, 4}}, true}, {0, 2, {{2, 4}}, true}};
  const auto done = replay(problem, {both}, problem.target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "round 0: device 2 adds to [0:4], which it does not hold");
  EXPECT_FALSE(replay(problem, {rest}, problem.target));
  EXPECT_FALSE(run_oracle(problem, {both}, problem.target));
  EXPECT_FALSE(run_oracle(problem, {rest}, problem.target));
}

TEST(Replay, TransfersOfARoundMayComeInAnyOrder) {
  int mixed = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Problem problem = random_problem(seed, {.partial = true, .other_mesh = seed % 2 == 0});
    const auto plan = make_plan(problem, {});
    if (!plan) continue;
    std::vector<Round> moves = rounds(problem, *plan);
    std::mt19937 random(seed);
    for (Round& round : moves) {
      std::vector<Transfer> list(round.begin(), round.end());
      const auto adds = [](const Transfer& transfer) { return transfer.add; };
      mixed += std::any_of(list.begin(), list.end(), adds) &&
               !std::all_of(list.begin(), list.end(), adds);
      std::shuffle(list.begin(), list.end(), random);
      round = {};
      for (const Transfer& transfer : list) round.push_back(transfer);
    }
    const Status replayed = replay(problem, moves, plan->last(problem));
    EXPECT_TRUE(replayed) << seed << ": " << replayed.error().message;
    EXPECT_TRUE(run_oracle(problem, moves, plan->last(problem))) << seed;
  }
  EXPECT_GT(mixed, 30);
}

/// The round with one change in one transfer: another sender, another receiver or another box, or
/// the box is added instead of stored.
Round damaged(const Round& round, Device devices, std::mt19937& random) {
  const std::size_t which = random() % round.size();
  Round other;
  for (std::size_t i = 0; i < round.size(); ++i) {
    Transfer transfer = round[i];
    const auto device = static_cast<Device>(random() % static_cast<unsigned>(devices));
    if (i == which) {
      switch (random() % 4) {
        case 0:
          transfer.from = device;
          break;
        case 1:
          transfer.to = device;
          break;
        case 2:
          transfer.add = !transfer.add;
          break;
        default:
          if (!transfer.box.empty()) ++transfer.box[random() % transfer.box.size()].low;
      }
    }
    other.push_back(transfer);
  }
  return other;
}

TEST(Replay, NeverAcceptsAPlanThatTheElementwiseCheckRejects) {
  int refuted = 0, accepted = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    const Problem problem = random_problem(seed, {.partial = true, .other_mesh = seed % 3 == 0});
    PlannerOptions options;
    options.link.message = seed % 2 == 0 ? 2'000'000 : 0;
    const auto plan = make_plan(problem, options);
    if (!plan) continue;
    std::mt19937 random(seed);
    std::vector<Round> moves = rounds(problem, *plan);
    if (moves.empty()) continue;
    Round& round = moves[random() % moves.size()];
    round = damaged(round, problem.source.devices(), random);
    const bool right = run_oracle(problem, moves, plan->last(problem)).has_value();
    const bool believed = replay(problem, moves, plan->last(problem)).has_value();
    EXPECT_TRUE(right || !believed) << seed;
    refuted += right ? 0 : 1;
    accepted += believed ? 1 : 0;
  }
  EXPECT_GT(refuted, 200);
  EXPECT_GT(accepted, 5);
}

}  // namespace
}  // namespace weft::reshard
