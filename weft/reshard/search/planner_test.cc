// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/planner.h"

#include <gtest/gtest.h>

#include "weft/reshard/check/outcome.h"
#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/layout/text.h"
#include "weft/reshard/search/bounds.h"

namespace weft::reshard {
namespace {

Link volume_alone() {
  Link link;
  link.step = 0;
  return link;
}
Link messages_too() {
  Link link;
  link.step = 0;
  link.message = 2'000'000;
  return link;
}

Plan planned(const Problem& problem, const Link& link) {
  PlannerOptions options;
  options.link = link;
  auto plan = make_plan(problem, options);
  EXPECT_TRUE(plan) << plan.error().message;
  const std::vector<Round> moves = rounds(problem, *plan);
  const Status replayed = replay(problem, moves, plan->last(problem));
  EXPECT_TRUE(replayed) << replayed.error().message;
  if (small_enough(problem)) {
    const Status numbers = run_oracle(problem, moves, plan->last(problem));
    EXPECT_TRUE(numbers) << numbers.error().message;
  }
  EXPECT_LE(plan->peak, bounds(problem).memory);
  return *plan;
}

TEST(Planner, PlansOfRandomProblemsAreCorrectAndFitAtEveryPrice) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    const RandomShape kind{
        .even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0};
    const Problem problem = random_problem(seed, kind);
    SCOPED_TRACE(seed);
    planned(problem, volume_alone());
    planned(problem, messages_too());
    planned(problem, Link{});
  }
}

TEST(Planner, PlansMeetTheReceiveBoundIfOnlyVolumeCosts) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    const Problem problem = random_problem(seed, {.other_mesh = seed % 2 == 0});
    EXPECT_EQ(received(planned(problem, volume_alone())), bounds(problem).recv_max) << seed;
  }
}

TEST(Planner, PlansAreNeverSlowerThanTheDirectPlan) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    const Problem problem = random_problem(seed, {.other_mesh = seed % 2 == 0});
    OverlapCache overlaps;
    for (const Link& link : {volume_alone(), messages_too(), Link{}}) {
      EXPECT_LE(planned(problem, link).time, direct_plan(problem, link, overlaps).time) << seed;
    }
  }
}

TEST(Planner, IfMessagesCostItUsesLogarithmicallyMany) {
  // Eight devices want the whole array. The plan has three rounds of one message instead of seven
  // messages.
  const Plan gather = planned(parsed("x=8", "64", "x", "-"), messages_too());
  EXPECT_EQ(gather.steps.size(), 3u);
  EXPECT_EQ(received(gather), 56);
  for (const Step& step : gather.steps) EXPECT_EQ(step.traffic.peers_max, 1);
  // Rows become columns in two rounds of one message instead of three messages.
  const Plan swap = planned(parsed("x=2,y=2", "8,8", "x+y,-", "-,x+y"), messages_too());
  std::int64_t messages = 0;
  for (const Step& step : swap.steps) messages += step.traffic.peers_max;
  EXPECT_EQ(messages, 2);
}

TEST(Planner, SummandsAreScatteredBeforeTheyAreGathered) {
  const Plan plan = planned(parsed("x=4", "16", "-", "-", "x"), Link{});
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].op, Op::kAllReduce);
  EXPECT_EQ(plan.steps[0].traffic.recv_max, 24);
  EXPECT_EQ(plan.steps[0].traffic.peers_max, 6);
}

TEST(Planner, AnUnevenArrayIsReducedInEqualSharesOfTheFlattenedArray) {
  // If rows were divided, the busiest devices would get two of the five rows. If the 25 flattened
  // elements are divided, one device gets seven elements and the other devices get six.
  for (const char* mesh : {"x=4", "x=4,y=2"}) {
    const Plan plan = planned(parsed(mesh, "5,5", "-,-", "-,-", "x"), Link{});
    ASSERT_EQ(plan.steps.size(), 1u);
    EXPECT_EQ(plan.steps[0].op, Op::kAllReduce);
    EXPECT_FALSE(plan.steps[0].layouts[0]->further.empty());
    EXPECT_EQ(plan.steps[0].traffic.recv_max, 3 * 7 + 18);
  }
}

TEST(Planner, ShardsBecomeSummandsWithoutTransfers) {
  const Plan plan = planned(parsed("x=4", "16,2", "x,-", "-,-", "", "x"), Link{});
  EXPECT_EQ(plan.time, 0);
  EXPECT_EQ(plan.steps.back().op, Op::kMakePartial);
  // If devices hold copies and the target is partial, nothing has to move: one device keeps its
  // copy, and all others hold zeros. This is true even for a scalar, which cannot be divided.
  EXPECT_EQ(planned(parsed("x=4", "-", "", "", "", "x"), Link{}).time, 0);
}

TEST(Planner, CastSumsFitIntoTheLargerEnd) {
  // Summands are sent as f64, so intermediate parts have four times the bytes of the target.
  Problem problem = parsed("x=2,y=2", "8,8", "x,-", "-,-", "y");
  ASSERT_TRUE(set_types(problem, "f64", "bf16"));
  for (const Link& link : {volume_alone(), messages_too(), Link{}}) {
    EXPECT_EQ(peak_bytes(problem, planned(problem, link)), 32 * 8);
  }
}

TEST(Planner, GathersOfUnevenNestedSplitsAreCorrect) {
  // 5 rows over 2 x 2 devices, a case in which a known framework gives wrong numbers.
  planned(parsed("m0=2,m1=2", "5,3", "m0+m1,-", "-,-", "", "", SplitRule::kCeilNested),
          messages_too());
}

TEST(Planner, NothingIsGatheredThatTheTargetDoesNotNeed) {
  // If a dimension loses its less significant axes and keeps or gains others, a known compiler pass
  // also gathers axes that still cut the target. Here received volume and peak must be minimal.
  const char* targets[] = {"x+y,-", "x,-", "x,z", "x+z,-", "-,x", "x,y"};
  for (const char* target : targets) {
    SCOPED_TRACE(target);
    const Problem problem = parsed("x=2,y=2,z=2", "16,8", "x+y+z,-", target);
    for (const Link& link : {volume_alone(), messages_too(), Link{}}) {
      const Plan plan = planned(problem, link);
      EXPECT_EQ(plan.peak, std::max(problem.source.largest(), problem.target.largest()));
    }
    EXPECT_EQ(received(planned(problem, volume_alone())), bounds(problem).recv_max);
  }
}

TEST(Planner, NodesPullOnceAndFanOutInsideIfBandwidthBetweenNodesIsLow) {
  Problem problem = parsed("n=2,d=4", "64,64", "n,-", "-,-");
  set_nodes(problem, 4);
  Link link = volume_alone();
  link.node_bandwidth = link.bandwidth / 4;
  const Plan plan = planned(problem, link);
  std::int64_t into_node = 0;
  for (const Step& step : plan.steps) into_node += step.traffic.node_recv_max;
  EXPECT_EQ(into_node, bounds(problem).node_recv_max);
  EXPECT_EQ(into_node, 32 * 64);
  // A direct exchange would bring the same half into the node four times, once per device.
  OverlapCache overlaps(problem.node_of);
  EXPECT_EQ(traffic(problem.source, problem.target, overlaps).node_recv_max, 4 * 32 * 64);
}

/// All shardings of two dimensions by whole axes of the mesh.
std::vector<Sharding> all_types(const Mesh& mesh) {
  std::vector<Sharding> types(1);
  types[0].mesh = mesh;
  types[0].dims.resize(2);
  for (const Axis& axis : mesh.axes) {
    const std::size_t count = types.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t dim = 0; dim < 2; ++dim) {
        types.push_back(types[i]);
        types.back().dims[dim].push_back(axis);
      }
    }
  }
  return types;
}

/// Makes plans between all pairs of types. Compares each plan with all chains of two plans through
/// a third type that fits into memory.
void expect_no_chain_is_faster(const char* axes, std::int64_t node_size, const Link& link) {
  SCOPED_TRACE(axes);
  const std::vector<Sharding> types = all_types(*parse_mesh(axes, ""));
  const std::size_t count = types.size();
  struct Known {
    Picos time;
    std::int64_t memory;
  };
  std::vector<Known> known;
  for (const Sharding& from : types) {
    for (const Sharding& to : types) {
      Problem problem = *make_problem({64, 64}, 4, from, to, SplitRule::kCeilFlat);
      set_nodes(problem, node_size);
      known.push_back({planned(problem, link).time, bounds(problem).memory});
    }
  }
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      const Known& whole = known[from * count + to];
      for (std::size_t stop = 0; stop < count; ++stop) {
        const Known &first = known[from * count + stop], &second = known[stop * count + to];
        if (std::max(first.memory, second.memory) > whole.memory) continue;
        EXPECT_LE(whole.time, first.time + second.time)
            << text_of(types[from]) << " -> " << text_of(types[to]) << " through "
            << text_of(types[stop]);
      }
    }
  }
}

TEST(Planner, WithNodesNoChainOfTwoPlansIsFaster) {
  Link narrow = messages_too(), wide;
  narrow.node_bandwidth = 1'000'000'000;
  narrow.grow = wide.grow = 16;
  wide.message = 5'000'000;
  wide.node_bandwidth = 10'000'000'000;
  for (const Link& link : {narrow, wide}) {
    expect_no_chain_is_faster("n=2,g=4", 4, link);
    expect_no_chain_is_faster("n=4,g=4", 4, link);
    expect_no_chain_is_faster("n=3,g=4", 4, link);
    expect_no_chain_is_faster("n=4,g=8", 8, link);
    expect_no_chain_is_faster("n=8,g=4", 4, link);
    expect_no_chain_is_faster("n=2,a=2,b=2", 4, link);
  }
}

TEST(Planner, CopiesOnTheReceiversNodeSendFirst) {
  Problem problem = parsed("n=2,d=4", "8,8", "d,-", "-,-");
  set_nodes(problem, 4);
  OverlapCache overlaps(problem.node_of);
  EXPECT_EQ(traffic(problem.source, problem.target, overlaps).node_recv_max, 0);
}

Problem along_x(const std::string& axes, const std::string& from, const std::string& to,
                const std::string& summands) {
  const Mesh mesh = *parse_mesh(axes, "");
  return *make_problem(*parse_shape("256,24"), 8, *parse_sharding(mesh, from, summands),
                       *parse_sharding(mesh, to, summands), SplitRule::kCeilNested);
}

TEST(Planner, SummandsThatStayPartialMoveNothing) {
  const std::vector<std::string> ends = {"x,-", "-,x", "-,-"};
  for (const Link& link : {volume_alone(), messages_too(), Link{}}) {
    for (const std::string& from : ends) {
      for (const std::string& to : ends) {
        const Plan plain = planned(along_x("x=4", from, to, ""), link);
        const Plan kept = planned(along_x("x=4,y=4", from, to, "y"), link);
        EXPECT_LE(kept.time, plain.time) << from << " to " << to;
      }
    }
  }
}

TEST(Planner, TheSameProblemGivesTheSamePlan) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Problem problem = random_problem(seed, {.partial = true, .other_mesh = seed % 2 == 0});
    const Plan a = planned(problem, messages_too()), b = planned(problem, messages_too());
    ASSERT_EQ(a.steps.size(), b.steps.size());
    EXPECT_EQ(a.time, b.time);
    for (std::size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].op, b.steps[i].op);
  }
}

}  // namespace
}  // namespace weft::reshard
