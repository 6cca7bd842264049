// SPDX-License-Identifier: Apache-2.0
// Checks typing rules. A rule predicts the type after a collective. The tests compare this type
// with what devices hold after the collective.
#include "weft/reshard/search/collectives.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {
namespace {

struct Fixture {
  Problem problem;
  FactoredProblem factored;
  TypeLayouts layouts;
  OverlapCache overlaps;

  explicit Fixture(Problem given)
      : problem(std::move(given)), factored(*factor(problem)), layouts(problem, factored) {}
  Traffic between(const Type& a, const Type& b) {
    return traffic(*layouts.layout(a), *layouts.layout(b), overlaps);
  }
};

TEST(Collectives, AxesAreFactoredIntoPrimes) {
  const Fixture it(parsed("x=12,y=5", "60", "x+y", "y+x"));
  EXPECT_EQ(it.factored.factors.radix, (std::vector<std::int32_t>{3, 2, 2, 5}));
  EXPECT_EQ(it.factored.from.dims[0], (FactorList{0, 1, 2, 3}));
  EXPECT_EQ(it.factored.to.dims[0], (FactorList{3, 0, 1, 2}));
}

TEST(Collectives, MeshesOfTheSameDevicesShareTheirDigits) {
  const auto wide = parse_mesh("x=8", ""), deep = parse_mesh("a=2,b=4", "");
  const auto problem = make_problem({8}, 4, *parse_sharding(*wide, "x", ""),
                                    *parse_sharding(*deep, "b+a", ""), SplitRule::kCeilFlat);
  const auto factored = factor(*problem);
  ASSERT_TRUE(factored);
  EXPECT_TRUE(factored->factors.same_sides);
  EXPECT_EQ(factored->to.dims[0], (FactorList{1, 2, 0}));
}

TEST(Collectives, AGatherMakesPartsLargerAndKeepsTheirElements) {
  Fixture it(parsed("x=2,y=3", "12,12", "x+y,-", "x,-"));
  const auto gathered = all_gather(it.factored.from, 0);
  ASSERT_TRUE(gathered);
  EXPECT_EQ(*gathered, it.factored.to);
  EXPECT_EQ(it.between(it.factored.from, *gathered).recv_max, 2 * 24);
  EXPECT_FALSE(all_gather(it.factored.from, 1));
}

TEST(Collectives, ASliceMovesNothing) {
  Fixture it(parsed("x=2,y=3", "12,12", "x,-", "x,y"));
  const auto sliced = dynamic_slice(it.factored.factors, it.factored.from, 1, 1);
  ASSERT_TRUE(sliced);
  EXPECT_EQ(*sliced, it.factored.to);
  EXPECT_EQ(it.between(it.factored.from, *sliced).recv_max, 0);
  EXPECT_FALSE(dynamic_slice(it.factored.factors, *sliced, 1, 1)) << "an axis is used once";
}

TEST(Collectives, AnAllToAllKeepsTheSizeAndMovesAllButOneShare) {
  Fixture it(parsed("x=3", "9,9", "x,-", "-,x"));
  const auto moved = all_to_all(it.factored.from, 0, 1);
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, it.factored.to);
  const Traffic traffic = it.between(it.factored.from, *moved);
  EXPECT_EQ(traffic.recv_max, 27 - 9);
  EXPECT_EQ(traffic.peers_max, 2);
}

TEST(Collectives, APermuteHasOnePeer) {
  Fixture it(parsed("x=2,y=2", "4,4", "x,y", "y,x"));
  EXPECT_TRUE(all_permute(it.factored.factors, it.factored.from, it.factored.to));
  const Traffic traffic = it.between(it.factored.from, it.factored.to);
  EXPECT_EQ(traffic.peers_max, 1);
  EXPECT_EQ(recognise(it.factored.factors, it.factored.from, it.factored.to, traffic),
            Op::kAllPermute);
}

TEST(Collectives, AReduceScatterAddsAndDivides) {
  Fixture it(parsed("x=2", "8", "-", "x", "x"));
  const auto scattered = reduce_scatter(it.factored.from, 0, 0);
  ASSERT_TRUE(scattered);
  EXPECT_EQ(*scattered, it.factored.to);
  const Traffic traffic = it.between(it.factored.from, *scattered);
  EXPECT_EQ(traffic.recv_max, 4);
  EXPECT_EQ(recognise(it.factored.factors, it.factored.from, *scattered, traffic),
            Op::kReduceScatter);
  EXPECT_FALSE(all_reduce(*scattered, 0)) << "nothing is left to reduce";
}

TEST(Collectives, StridedPartsLetTheLessSignificantDigitMoveFirst) {
  Fixture it(parsed("x=2,y=2", "4,4", "x+y,-", "-,x+y"));
  Type between = it.factored.from;
  between.dims = {{0}, {1}};
  between.frames[1] = Frame::kTarget;
  const LayoutPtr layout = it.layouts.layout(between);
  EXPECT_EQ(layout->region(1), (std::vector<Strips>{{{0, 2}}, {{1, 2}, {3, 4}}}));
  EXPECT_EQ(it.between(it.factored.from, between).peers_max, 1);
  EXPECT_EQ(it.between(between, it.factored.to).peers_max, 1);
}

}  // namespace
}  // namespace weft::reshard
