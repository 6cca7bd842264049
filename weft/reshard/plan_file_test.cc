// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/plan_file.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {
namespace {

PlannedArray planned(Problem problem, Picos message = 0) {
  PlannedArray array{std::move(problem), {}, {}};
  array.link.message = message;
  PlannerOptions options;
  options.link = array.link;
  auto plan = make_plan(array.problem, options);
  WEFT_CHECK(plan.has_value());
  array.plan = std::move(*plan);
  return array;
}

void expect_same(const PlannedArray& a, const PlannedArray& b) {
  EXPECT_EQ(a.problem.id, b.problem.id);
  EXPECT_EQ(a.problem.devices, b.problem.devices);
  EXPECT_EQ(a.problem.reduction, b.problem.reduction);
  EXPECT_EQ(a.plan.time, b.plan.time);
  EXPECT_EQ(a.plan.peak, b.plan.peak);
  const auto before = rounds(a.problem, a.plan), after = rounds(b.problem, b.plan);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i].size(), after[i].size());
    for (std::size_t k = 0; k < before[i].size(); ++k) {
      EXPECT_EQ(before[i][k].from, after[i][k].from);
      EXPECT_EQ(before[i][k].to, after[i][k].to);
      EXPECT_EQ(before[i][k].box, after[i][k].box);
      EXPECT_EQ(before[i][k].add, after[i][k].add);
    }
  }
}

TEST(PlanFile, AFileThatIsReadHasTheSameTransfersAndIsWrittenTheSame) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Problem problem = random_problem(seed, {false, seed % 3 == 0, seed % 2 == 0});
    problem.id = "a " + std::to_string(seed);
    if (problem.source.partial() || problem.target.partial()) problem.reduction = "sum";
    if (seed % 5 == 0) set_nodes(problem, 2);
    if (!make_plan(problem, {})) continue;
    const PlannedArray array = planned(std::move(problem), seed % 4 == 0 ? 2'000'000 : 0);
    const std::string text = print_plan_file({array});
    const auto read = parse_plan_file(text, "test");
    ASSERT_TRUE(read) << "seed " << seed << ": " << read.error().text();
    ASSERT_EQ(read->size(), 1u);
    expect_same(array, read->front());
    EXPECT_EQ(print_plan_file(*read), text) << "seed " << seed;
  }
}

TEST(PlanFile, ElementTypesAndBoxesSurviveTheRoundTrip) {
  PlannedArray array;
  array.problem.shape = {4};
  array.problem.devices = {3, 5};
  array.problem.source = layout_of_boxes({4}, {{{{0, 1}}, {{2, 4}}}, {{{1, 2}}}});
  array.problem.target = layout_of_boxes({4}, {{}, {{{0, 4}}}});
  ASSERT_TRUE(set_types(array.problem, "f32", "bf16"));
  array = planned(array.problem);
  const auto read = parse_plan_file(print_plan_file({array, array}), "test");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 2u);
  expect_same(array, read->back());
  ASSERT_TRUE(read->back().problem.cast);
  EXPECT_EQ(read->back().problem.cast->to, "bf16");
}

/// The text in which the first occurrence of `what` is replaced by `by`.
std::string damaged(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  WEFT_CHECK(at != text.npos);
  return text.replace(at, what.size(), by);
}

TEST(PlanFile, ADamagedFileIsRefusedWithTheReason) {
  const std::string good = print_plan_file({planned(parsed("x=2", "4", "x", "-"))});
  ASSERT_TRUE(parse_plan_file(good, "p.json"));
  const auto reason = [&](const std::string& what, const std::string& by) {
    const auto read = parse_plan_file(damaged(good, what, by), "p.json");
    return read ? std::string() : read.error().text();
  };
  EXPECT_NE(reason("\"plan_version\":1", "\"plan_version\":2").find("of Weft reads 1"),
            std::string::npos);
  EXPECT_NE(reason("\"reshard\"", "\"changes\"").find("not a plan for arrays"), std::string::npos);
  EXPECT_NE(reason("[0,2]", "[0,3]").find("overlap"), std::string::npos);
  EXPECT_NE(reason("[0,2]", "[0,9]").find("not a whole number from 0 to 4"), std::string::npos);
  EXPECT_NE(reason("\"group\":[0,0]", "\"group\":[0,1]").find("'group'"), std::string::npos);
  EXPECT_NE(reason("\"of_part\":[0,1]", "\"of_part\":[0]").find("of_part"), std::string::npos);
  EXPECT_NE(reason("\"steps\":[{", "\"steps\":[],\"other\":[{").find("array"), std::string::npos);
  EXPECT_NE(reason("\"all_gather\"", "\"telepathy\"").find("does not know"), std::string::npos);
  EXPECT_NE(reason("\"devices\":[0,1]", "\"devices\":[1,0]").find("in increasing order"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::reshard
