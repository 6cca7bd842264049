// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {
namespace {

struct Planned {
  std::vector<Problem> problems;
  std::vector<Plan> plans;
  std::vector<ArrayRoute> routes;
};

Planned planned(std::vector<Problem> problems) {
  Planned all{std::move(problems), {}, {}};
  for (const Problem& problem : all.problems) {
    auto plan = make_plan(problem, {});
    WEFT_CHECK(plan.has_value());
    all.plans.push_back(std::move(*plan));
  }
  for (std::size_t i = 0; i < all.problems.size(); ++i) {
    all.routes.push_back(make_route(all.problems[i], all.plans[i]));
  }
  return all;
}

/// The rounds of a plan, as rounds() returns them, with the jointly chosen senders.
std::vector<Round> rounds_of(const ArrayRoute& route,
                             const std::vector<std::vector<Piece>>& pieces) {
  std::vector<Round> rounds;
  for (std::size_t way = 0; way < pieces.size(); ++way) {
    if (route.round[way] < 0) continue;
    Round round;
    for (const Piece& piece : pieces[way]) {
      std::vector<Strips> shared;
      for (std::size_t dim = 0; dim < route.problem->shape.size(); ++dim) {
        shared.push_back(intersect(route.layouts[way]->cuts[dim]->piece(piece.from_part),
                                   route.layouts[way + 1]->cuts[dim]->piece(piece.to_part)));
      }
      for_each_box(shared, [&](const Box& box) {
        round.push_back({piece.from, piece.to, box, piece.add});
      });
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

/// Four devices hold copies of every array, and one device receives all arrays. Each array has one
/// sender. Large and small arrays alternate, so the bytes would not be balanced if the four devices
/// took turns.
TEST(Joint, SendersAreBalancedOverArrays) {
  std::vector<Problem> problems;
  const auto from_mesh = parse_mesh("x=4", "0,1,2,3"), to_mesh = parse_mesh("z=1", "7");
  for (int i = 0; i < 8; ++i) {
    const auto from = parse_sharding(*from_mesh, "-", ""), to = parse_sharding(*to_mesh, "-", "");
    problems.push_back(
        *make_problem({i % 2 == 0 ? 1000 : 10}, 4, *from, *to, SplitRule::kCeilFlat));
  }
  const Planned all = planned(std::move(problems));
  EXPECT_TRUE(has_sender_choice(all.routes));
  const JointLoads loads = joint_loads(all.routes, joint_pieces(all.routes));
  EXPECT_EQ(loads.sent, (std::vector<Bytes>{4040, 4040, 4040, 4040, 0}));
  EXPECT_EQ(loads.sent_max, 4040);
  EXPECT_EQ(loads.received_max, 4 * 4040);
}

/// Only device 0 holds the first array. Both devices hold the second array, so device 1 sends it.
TEST(Joint, ADeviceThatMustSendOneArraySendsLessOfOthers) {
  const auto both = parse_mesh("x=2", "0,1"), first = parse_mesh("y=1", "0"),
             last = parse_mesh("z=1", "2");
  const auto copies = parse_sharding(*both, "-", ""), alone = parse_sharding(*first, "-", ""),
             to = parse_sharding(*last, "-", "");
  std::vector<Problem> problems = {*make_problem({100}, 4, *alone, *to, SplitRule::kCeilFlat),
                                   *make_problem({100}, 4, *copies, *to, SplitRule::kCeilFlat)};
  share_devices(problems);
  EXPECT_EQ(problems[0].devices, problems[1].devices);
  const Planned all = planned(std::move(problems));
  EXPECT_EQ(joint_loads(all.routes, joint_pieces(all.routes)).sent,
            (std::vector<Bytes>{400, 400, 0}));
}

TEST(Joint, PlansStayCorrectWithJointlyChosenSenders) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::vector<Problem> problems;
    for (unsigned i = 0; i < 4; ++i) {
      problems.push_back(random_problem(4 * seed + i, {false, seed % 2 == 0, true}));
    }
    share_devices(problems);
    std::vector<Problem> feasible;
    for (Problem& problem : problems) {
      if (make_plan(problem, {})) feasible.push_back(std::move(problem));
    }
    const Planned all = planned(std::move(feasible));
    const JointPieces pieces = joint_pieces(all.routes);
    Bytes alone_max = 0;
    for (std::size_t i = 0; i < all.routes.size(); ++i) {
      const auto moved = rounds_of(all.routes[i], pieces[i]);
      const Layout& last = all.plans[i].last(all.problems[i]);
      EXPECT_TRUE(replay(all.problems[i], moved, last)) << "seed " << seed;
      EXPECT_TRUE(run_oracle(all.problems[i], moved, last)) << "seed " << seed;
      alone_max += joint_loads({all.routes[i]}, joint_pieces({all.routes[i]})).sent_max;
    }
    const JointLoads loads = joint_loads(all.routes, pieces);
    EXPECT_LE(loads.sent_max, alone_max) << "seed " << seed;
    EXPECT_EQ(std::accumulate(loads.sent.begin(), loads.sent.end(), Bytes{0}),
              std::accumulate(loads.received.begin(), loads.received.end(), Bytes{0}));
  }
}

TEST(Joint, WithoutCopiesThereIsNoSenderToChoose) {
  const Planned all = planned({parsed("x=4", "16,16", "x,-", "-,x")});
  EXPECT_FALSE(has_sender_choice(all.routes));
}

}  // namespace
}  // namespace weft::reshard
