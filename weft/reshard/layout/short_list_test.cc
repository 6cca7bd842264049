// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/short_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft::reshard {
namespace {

using List = ShortList<int, 3>;

TEST(ShortList, BehavesLikeAVectorAtEveryLength) {
  std::mt19937 random(1);
  std::vector<List> lists(4);
  std::vector<std::vector<int>> truth(4);
  for (int step = 0; step < 4000; ++step) {
    const std::size_t a = random() % 4, b = random() % 4;
    const int item = static_cast<int>(random() % 100);
    switch (random() % 8) {
      case 0:
        lists[a] = lists[b];
        truth[a] = truth[b];
        break;
      case 1:
        if (a == b) break;
        lists[a] = std::move(lists[b]);
        truth[a] = std::exchange(truth[b], {});
        EXPECT_TRUE(lists[b].empty());
        break;
      case 2:
        lists[a] = List(truth[b].begin(), truth[b].end());
        truth[a] = truth[b];
        break;
      case 3:
        lists[a].clear();
        truth[a].clear();
        break;
      case 4:
        lists[a].resize(item % 6);
        truth[a].resize(item % 6);
        break;
      case 5:
        if (a == b || truth[a].size() > 50) break;
        lists[a].append(lists[b].begin(), lists[b].end());
        truth[a].insert(truth[a].end(), truth[b].begin(), truth[b].end());
        break;
      default:
        lists[a].push_back(item);
        truth[a].push_back(item);
        EXPECT_EQ(lists[a].back(), item);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(std::vector<int>(lists[i].begin(), lists[i].end()), truth[i]) << step;
      EXPECT_EQ(lists[i] == lists[a], truth[i] == truth[a]);
    }
  }
}

TEST(ShortList, AnItemOfTheListItselfMayBeAppended) {
  List list{7, 8, 9};
  list.push_back(list.front());  // moves all of them to the heap
  EXPECT_EQ(list, (List{7, 8, 9, 7}));
}

TEST(ShortList, FewItemsAreStoredInline) {
  List list{1, 2, 3};
  const auto* begin = reinterpret_cast<const std::byte*>(&list);
  const auto* item = reinterpret_cast<const std::byte*>(list.begin());
  EXPECT_TRUE(item >= begin && item < begin + sizeof(list));
}

}  // namespace
}  // namespace weft::reshard
