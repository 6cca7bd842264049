// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/check/summand_sets.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weft::reshard {
namespace {

using Plain = std::set<std::size_t>;

/// Adds `more` to `into`. Returns false if the two sets have an element in common.
bool add(Plain& into, const Plain& more) {
  for (const std::size_t group : more) {
    if (into.count(group) > 0) return false;
  }
  into.insert(more.begin(), more.end());
  return true;
}

TEST(SummandSets, BehaveLikeStdSet) {
  std::mt19937 random(7);
  int collisions = 0, whole = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t groups = 1 + random() % 150, holders = 2 + random() % 6;
    SummandSets sets(holders, groups), others(1, groups);
    sets.start(static_cast<std::size_t>(trial));
    others.start(static_cast<std::size_t>(trial));
    std::vector<Plain> plain(holders);
    for (std::size_t i = 0; i < groups; ++i) {
      const std::size_t holder = random() % holders;
      ASSERT_TRUE(sets.add(holder, SummandSets::single(i)));
      plain[holder].insert(i);
    }
    bool apart = true;
    for (int step = 0; step < 8 && apart; ++step) {
      const std::size_t from = random() % holders, to = random() % holders;
      sets.clear_snapshots();
      const SummandSets::Snapshot kept = sets.snapshot(from);
      if (random() % 4 == 0) {
        sets.replace(to, kept);
        plain[to] = plain[from];
      } else {
        apart = add(plain[to], Plain(plain[from]));
        ASSERT_EQ(sets.add(to, kept), apart);
        collisions += apart ? 0 : 1;
      }
      if (!apart) break;  // after a failed add() the content of a set is unspecified
      for (std::size_t i = 0; i < holders; ++i) {
        ASSERT_EQ(sets.empty(i), plain[i].empty());
        ASSERT_EQ(sets.all(i), plain[i].size() == groups);
        whole += plain[i].size() == groups;
      }
    }
    if (!apart) continue;
    ASSERT_TRUE(others.add(0, sets, 0));
    EXPECT_EQ(others.empty(0), plain[0].empty());
    EXPECT_EQ(others.add(0, sets, 0), plain[0].empty());
  }
  EXPECT_GT(collisions, 100);
  EXPECT_GT(whole, 100);
}

TEST(SummandSets, AreEmptyAtTheStartOfACell) {
  SummandSets sets(2, 70);
  sets.start(0);
  EXPECT_TRUE(sets.empty(0));
  EXPECT_TRUE(sets.add(0, SummandSets::single(3)));
  EXPECT_TRUE(sets.add(0, SummandSets::single(66)));
  sets.start(1);
  EXPECT_TRUE(sets.empty(0));
  EXPECT_TRUE(sets.add(0, SummandSets::single(66)));
  EXPECT_FALSE(sets.add(0, SummandSets::single(66)));
}

}  // namespace
}  // namespace weft::reshard
