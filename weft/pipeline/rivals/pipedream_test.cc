// SPDX-License-Identifier: Apache-2.0
// Compares the optimizer with a second implementation of the rules: a recursion over all cuts.
#include "weft/pipeline/rivals/pipedream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "weft/pipeline/model/ideals.h"

namespace weft::pipeline {
namespace {

Profile random_graph(std::mt19937& random, std::int32_t count) {
  const auto number = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  Profile profile;
  profile.name = "random";
  for (std::int32_t i = 0; i < count; ++i) {
    Layer layer;
    layer.id = layer.name = std::to_string(i);
    layer.forward = number(1000);
    layer.backward = number(2000);
    layer.activation = number(900);
    layer.parameters = number(500);
    profile.layers.push_back(layer);
    if (i > 0) profile.edges.push_back({static_cast<std::int32_t>(number(i)), i});
    if (i > 1) profile.edges.push_back({static_cast<std::int32_t>(number(i)), i});
  }
  EXPECT_TRUE(check_profile(profile));
  return profile;
}

/// Solves the problem by plain recursion over the last stage. value() is for the layers that are in
/// ideal `to` but not in ideal `from`; if `from` is -1, for all layers of `to`.
class Naive {
 public:
  Naive(const Ideals& ideals, const std::vector<PipedreamLevel>& levels)
      : ideals_(ideals), levels_(levels) {}

  double value(std::size_t level, int from, int to, int machines) const {
    const double bytes = static_cast<double>(parameters(from, to));
    const double bandwidth = static_cast<double>(levels_[level].bandwidth) * 1e-9;
    const int inside = level == 0 ? 1 : levels_[level - 1].machines;
    double best =
        (below(level, from, to) + 4.0 * (machines - 1) * bytes / bandwidth / machines / inside) /
        machines;
    for (int cut = from + 1; cut < to; ++cut) {
      if (from >= 0 && !ideals_.within(from, cut)) continue;
      if (!ideals_.within(cut, to)) continue;
      for (int last = 1; last < machines; ++last) {
        const double weights = static_cast<double>(parameters(cut, to));
        double slowest = std::max(
            value(level, from, cut, machines - last),
            (below(level, cut, to) + 4.0 * (last - 1) * weights / bandwidth / last) / last);
        slowest = std::max(slowest, sent(cut) / bandwidth / last);
        if (to + 1 < static_cast<int>(ideals_.size())) {
          slowest = std::max(slowest, sent(to) / bandwidth / last);
        }
        best = std::min(best, slowest);
      }
    }
    return best;
  }

 private:
  Bytes parameters(int from, int to) const {
    return ideals_.parameters[to] - (from < 0 ? 0 : ideals_.parameters[from]);
  }
  double sent(int cut) const { return 2.0 * static_cast<double>(ideals_.output[cut]); }
  double below(std::size_t level, int from, int to) const {
    if (level == 0) {
      return static_cast<double>(ideals_.compute[to] - (from < 0 ? 0 : ideals_.compute[from]));
    }
    return value(level - 1, from, to, levels_[level - 1].machines);
  }
  const Ideals& ideals_;
  const std::vector<PipedreamLevel>& levels_;
};

TEST(Pipedream, EqualsAllWaysToCut) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Profile profile = random_graph(random, 2 + round % 5);
    const auto ideals = all_ideals(profile, 1000);
    ASSERT_TRUE(ideals);
    for (const std::vector<PipedreamLevel>& levels :
         {std::vector<PipedreamLevel>{{4, 1'000'000'000}},
          std::vector<PipedreamLevel>{{3, 2'000'000'000}, {2, 500'000'000}}}) {
      const auto answer = solve_pipedream(profile, levels);
      ASSERT_TRUE(answer);
      const Naive naive(*ideals, levels);
      const double expected = naive.value(
          levels.size() - 1, -1, static_cast<int>(ideals->size()) - 1, levels.back().machines);
      EXPECT_EQ(answer->bottleneck, std::llround(expected)) << "round " << round;
      std::size_t layers = 0;
      for (const PipedreamStage& stage : answer->stages) layers += stage.layers.size();
      EXPECT_EQ(layers, profile.layers.size());
    }
  }
}

/// An extra level with one machine does not change the answer, but selects the solver for several
/// levels.
TEST(Pipedream, OneLevelEqualsTwoLevelsOfWhichOneIsTrivial) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const Profile profile = random_graph(random, 4 + round % 9);
    const PipedreamLevel level{1 + round % 7, 100'000'000 << (round % 5)};
    const auto one = solve_pipedream(profile, {level});
    const auto two = solve_pipedream(profile, {{1, level.bandwidth}, level});
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->bottleneck, two->bottleneck) << "round " << round;
    std::int32_t machines = 0;
    for (const PipedreamStage& stage : one->stages) machines += stage.replicas;
    EXPECT_EQ(machines, level.machines);
  }
}

/// Parallel branches, so that the numbers of ideals multiply, and one layer that joins them.
TEST(Pipedream, CutsOfParallelBranchesAreAllCounted) {
  constexpr std::int32_t kBranches = 6, kLong = 6;
  Profile profile;
  profile.name = "branches";
  const auto layer = [&] {
    Layer made;
    made.id = made.name = std::to_string(profile.layers.size());
    made.forward = 1'000'000;
    profile.layers.push_back(made);
    return static_cast<std::int32_t>(profile.layers.size()) - 1;
  };
  layer();
  std::vector<std::int32_t> ends;
  for (std::int32_t b = 0; b < kBranches; ++b) {
    std::int32_t before = 0;
    for (std::int32_t i = 0; i < kLong; ++i) {
      const std::int32_t next = layer();
      profile.edges.push_back({before, next});
      before = next;
    }
    ends.push_back(before);
  }
  const std::int32_t last = layer();
  for (const std::int32_t end : ends) profile.edges.push_back({end, last});
  const auto answer = solve_pipedream(profile, {{2, 1'000'000'000}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->states, 117'650u);  // 7^6 sets before the last layer, and the whole graph
  EXPECT_EQ(answer->bottleneck, 19'000'000);
}

TEST(Pipedream, InputsAndUnusedItemsAreLeftOut) {
  Profile profile;
  for (const char* name : {"Input0", "a", "b", "__getitem__(0)"}) {
    Layer layer;
    layer.id = layer.name = name;
    layer.forward = 1000;
    profile.layers.push_back(layer);
  }
  profile.edges = {{0, 1}, {1, 2}, {2, 3}};
  const auto answer = solve_pipedream(profile, {{2, 1'000'000'000}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->states, 2u);
  EXPECT_EQ(answer->bottleneck, 1000);
}

TEST(Ideals, ADiamondHasFive) {
  Profile profile;
  for (int i = 0; i < 4; ++i) {
    Layer layer;
    layer.id = std::to_string(i);
    layer.activation = Bytes{1} << i;
    profile.layers.push_back(layer);
  }
  profile.edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const auto ideals = all_ideals(profile, 10);
  ASSERT_TRUE(ideals);
  EXPECT_EQ(ideals->size(), 5u);
  // {0} sends 1 byte. {0, 1} and {0, 2} also send the output of 0, which still has a reader. {0, 1,
  // 2} sends all three, because PipeDream counts layer 0 although its readers are inside. The last
  // value is the output of the whole graph.
  EXPECT_EQ(ideals->output, (std::vector<Bytes>{1, 3, 5, 7, 8}));
  EXPECT_FALSE(all_ideals(profile, 3));
}

}  // namespace
}  // namespace weft::pipeline
