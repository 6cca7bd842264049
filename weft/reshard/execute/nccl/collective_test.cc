// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/nccl/collective.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute::nccl {
namespace {

using Kind = Collective::Kind;

Program program_of(const Problem& problem, Device device, const Elements& elements,
                   Bytes budget = 0) {
  const Plan plan = make_plan(problem, {}).value();
  return make_program({{&problem, &plan, elements}}, device, {.budget = budget}).value();
}

TEST(Collective, AnAllGatherOfRowsNeedsNoCopies) {
  const Problem problem = parsed("x=4", "64,64", "x,-", "-,-");
  const Program program = program_of(problem, 2, {"f32", ""});
  ASSERT_EQ(program.turns.size(), 1u);
  const Collective found = find_collective(program, program.turns[0], 4);
  EXPECT_EQ(found.kind, Kind::kAllGather);
  EXPECT_EQ(found.count, 16u * 64 * 4);
  EXPECT_EQ(found.from.buffer, 0);
  EXPECT_EQ(found.to.buffer, 1);
  EXPECT_EQ(found.to.offset, 0);
  EXPECT_EQ(found.staging, 0);
  EXPECT_TRUE(found.before.empty() && found.after.empty());
}

TEST(Collective, AnAllGatherOfColumnsIsUnpacked) {
  const Problem problem = parsed("x=4", "64,64", "-,x", "-,-");
  const Program program = program_of(problem, 2, {"f32", ""});
  const Collective found = find_collective(program, program.turns[0], 4);
  EXPECT_EQ(found.kind, Kind::kAllGather);
  EXPECT_EQ(found.staging, 64 * 64 * 4);
  EXPECT_EQ(found.before.size(), 1u) << "the own part";
  EXPECT_EQ(found.after.size(), 3u);
}

TEST(Collective, WithABudgetOrAnUnknownTypeThereIsNoCollective) {
  const Problem rows = parsed("x=4", "64,64", "x,-", "-,-");
  const Program bounded = program_of(rows, 0, {"f32", ""}, 4096);
  EXPECT_EQ(find_collective(bounded, bounded.turns[0], 4).kind, Kind::kNone);

  const Mesh mesh = parse_mesh("x=4", "").value();
  const Problem sums = make_problem({64, 64}, 8, parse_sharding(mesh, "-,-", "x").value(),
                                    parse_sharding(mesh, "x,-", "").value(), SplitRule::kCeilNested)
                           .value();
  const Program floats = program_of(sums, 1, {"f64", "sum"});
  const Collective found = find_collective(floats, floats.turns[0], 4);
  EXPECT_EQ(found.kind, Kind::kReduceScatter);
  EXPECT_EQ(found.count, 16u * 64);
  EXPECT_EQ(found.staging, 0);
  const Program complex = program_of(sums, 1, {"c64", "sum"});
  EXPECT_EQ(find_collective(complex, complex.turns[0], 4).kind, Kind::kNone);
  const Program least = program_of(sums, 1, {"f64", "min"});
  EXPECT_EQ(find_collective(least, least.turns[0], 4).kind, Kind::kNone);
}

TEST(Collective, AllRanksOfEvenProblemsFindTheSame) {
  const Problem problem = parsed("x=4", "64,64", "x,-", "-,-");
  const std::uint64_t first = summary(program_of(problem, 0, {"f32", ""}), 4);
  for (Device device = 1; device < 4; ++device) {
    EXPECT_EQ(summary(program_of(problem, device, {"f32", ""}), 4), first);
  }
  const Problem other = parsed("x=4", "64,64", "x,-", "-,x");
  EXPECT_NE(summary(program_of(other, 0, {"f32", ""}), 4), first);
}

}  // namespace
}  // namespace weft::reshard::execute::nccl
