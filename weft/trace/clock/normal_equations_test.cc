// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/normal_equations.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace weft::trace {
namespace {

using Term = EquationTerm;

/// Makes equations of clocks that are observed in pairs (as messages do) and in groups (as
/// collectives do). Clock 0 is fixed.
template <class Equations>
Equations made_equations(std::size_t clocks, bool chain) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> pick(0.2, 5);
  Equations equations(clocks - 1);
  const auto index = [](std::size_t clock) { return static_cast<std::ptrdiff_t>(clock) - 1; };
  const auto add_pair = [&](std::size_t a, std::size_t b) {
    const std::array<Term, 2> terms{{{index(a), 1}, {index(b), -1}}};
    const double weight = pick(random);
    equations.add_outer(terms, weight);
    equations.add_right(terms, weight * pick(random));
  };
  for (std::size_t c = 1; c < clocks; ++c) add_pair(c, chain ? c - 1 : c / 2);
  if (chain) return equations;
  for (int round = 0; round < 5; ++round) {
    // Compare all clocks with their weighted mean.
    std::vector<Term> sum;
    double total = 0;
    for (std::size_t c = 0; c < clocks; ++c) {
      const double weight = pick(random);
      const std::array<Term, 1> own{{{index(c), 1}}};
      equations.add_outer(own, weight);
      equations.add_right(own, weight * (pick(random) - 2));
      sum.push_back({index(c), weight});
      total += weight;
    }
    equations.add_outer(sum, -1 / total);
  }
  return equations;
}

TEST(NormalEquations, DenseAndSparseSolutionsAgree) {
  for (const bool chain : {false, true}) {
    for (const std::size_t clocks : {2u, 3u, 65u, 130u, 300u}) {
      auto dense = made_equations<DenseEquations>(clocks, chain);
      dense.factorise();
      const std::vector<double> direct = dense.solve();
      const auto sparse = made_equations<SparseEquations>(clocks, chain);
      const std::vector<double> found = sparse.solve(std::vector<double>(clocks - 1, 0));
      const std::vector<double> again = sparse.solve(direct);
      for (std::size_t i = 0; i < direct.size(); ++i) {
        const double scale = 1 + std::abs(direct[i]);
        EXPECT_NEAR(found[i], direct[i], 1e-6 * scale) << clocks << " clocks, " << i;
        EXPECT_NEAR(again[i], direct[i], 1e-6 * scale) << clocks << " clocks, " << i;
      }
    }
  }
}

TEST(NormalEquations, VariancesOfAChainAddUp) {
  // Each clock is observed relative to its neighbour, always with the same precision. So the
  // variance grows with the distance from the fixed clock.
  constexpr std::size_t kClocks = 200;
  DenseEquations equations(kClocks);
  for (std::ptrdiff_t c = 0; c < static_cast<std::ptrdiff_t>(kClocks); ++c) {
    equations.add_outer(std::array<Term, 2>{{{c, 1}, {c - 1, -1}}}, 0.5);
  }
  equations.factorise();
  const std::vector<double> variance = equations.variances();
  for (std::size_t c = 0; c < kClocks; ++c) {
    const double expected = 2.0 * static_cast<double>(c + 1);
    EXPECT_NEAR(variance[c], expected, 1e-4 * expected);
  }
}

TEST(NormalEquations, UnknownsWithoutObservationStayAtZero) {
  DenseEquations dense(2);
  SparseEquations sparse(2);
  const std::array<Term, 1> first{{{0, 1}}};
  dense.add_outer(first, 4);
  dense.add_right(first, 8);
  sparse.add_outer(first, 4);
  sparse.add_right(first, 8);
  dense.factorise();
  const std::vector<double> found = sparse.solve({0, 0});
  EXPECT_NEAR(dense.solve()[0], 2, 1e-6);
  EXPECT_NEAR(found[0], 2, 1e-6);
  EXPECT_EQ(dense.solve()[1], 0);
  EXPECT_EQ(found[1], 0);
}

}  // namespace
}  // namespace weft::trace
