// SPDX-License-Identifier: Apache-2.0
// Checks the properties of normal forms (docs/design/reshard.md) on random problems that divide
// evenly.
#include "weft/reshard/search/normal_form.h"

#include <gtest/gtest.h>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/collectives.h"
#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {
namespace {

/// The number of parts into which the array is cut. Fewer parts are larger parts.
std::int64_t parts(const FactoredProblem& factored, const Type& type) {
  std::int64_t product = 1;
  for (const FactorList& list : type.dims) product *= divisor(factored.factors, list);
  return product;
}

TEST(NormalForm, SlicesThenFlatThenGathersAndAtMostOnePermute) {
  int permutes = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Problem problem = random_problem(seed, {.even = true});
    const auto factored = factor(problem);
    ASSERT_TRUE(factored);
    const auto steps = normal_form(*factored);
    ASSERT_TRUE(steps);
    int phase = 0, flat = 0;
    const std::int64_t fewest =
        std::min(parts(*factored, factored->from), parts(*factored, factored->to));
    Type at = factored->from;
    for (const TypedStep& step : *steps) {
      const int now = step.op == Op::kDynamicSlice ? 0 : step.op == Op::kAllGather ? 2 : 1;
      EXPECT_GE(now, phase) << seed;
      phase = now;
      flat += step.op == Op::kAllPermute || step.op == Op::kExchange;
      EXPECT_GE(parts(*factored, step.type), fewest) << seed;
      at = step.type;
    }
    EXPECT_LE(flat, 1) << seed;
    EXPECT_EQ(at, factored->to) << seed;
    permutes += flat;
  }
  EXPECT_GT(permutes, 100) << "the random problems never need one";
}

TEST(NormalForm, EveryStepFollowsItsTypingRule) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const auto factored = factor(random_problem(seed, {.even = true}));
    const auto steps = normal_form(*factored);
    ASSERT_TRUE(steps);
    Type at = factored->from;
    for (const TypedStep& step : *steps) {
      bool ruled = false;
      const std::size_t dims = at.dims.size();
      for (std::size_t i = 0; i < dims; ++i) {
        switch (step.op) {
          case Op::kAllGather:
            ruled = ruled || all_gather(at, i) == step.type;
            break;
          case Op::kDynamicSlice:
            for (const Factor factor : unused(factored->factors, at)) {
              ruled = ruled || dynamic_slice(factored->factors, at, i, factor) == step.type;
            }
            break;
          case Op::kAllToAll:
            for (std::size_t k = 0; k < dims; ++k)
              ruled = ruled || all_to_all(at, i, k) == step.type;
            break;
          default:
            ruled = parts(*factored, at) == parts(*factored, step.type);
        }
      }
      EXPECT_TRUE(ruled) << seed << " " << op_name(step.op);
      at = step.type;
    }
  }
}

TEST(NormalForm, HalvesBecomeThirdsByASliceAPermuteAndAGather) {
  // 6 elements, cut into halves by x and then into thirds by y.
  const auto factored = factor(parsed("x=2,y=3", "6", "x", "y"));
  const auto steps = normal_form(*factored);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ((*steps)[0].op, Op::kDynamicSlice);
  EXPECT_EQ((*steps)[1].op, Op::kAllPermute);
  EXPECT_EQ((*steps)[2].op, Op::kAllGather);
}

}  // namespace
}  // namespace weft::reshard
