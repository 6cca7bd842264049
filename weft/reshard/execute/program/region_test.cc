// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/region.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/reshard/execute/program/naive_run.h"

namespace weft::reshard::execute {
namespace {

/// A box of a dense array, with one loop per dimension.
Region box_of(std::mt19937& random, const std::vector<std::int64_t>& extents) {
  Region region{0, 0, 0, 4, {}};
  region.loops.resize(extents.size());
  Bytes stride = 4;
  for (std::size_t i = extents.size(); i-- > 0;) {
    region.loops[i] = {extents[i], stride};
    stride *= extents[i] + random() % 2;
  }
  return region;
}

TEST(Region, PiecesFitAndFollowEachOther) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> extents(1 + random() % 4);
    for (auto& extent : extents) extent = 1 + random() % 5;
    const Region region = box_of(random, extents);
    const Bytes limit = 1 + random() % 100;
    std::vector<std::size_t> places;
    for (const Region& piece : cut(region, limit)) {
      EXPECT_LE(piece.bytes(), std::max<Bytes>(limit, 4));
      for (const std::size_t place : naive::numbers_in(joined(piece))) places.push_back(place);
    }
    EXPECT_EQ(places, naive::numbers_in(region));
  }
}

TEST(Region, SlicesFollowTheOrderOfTheWalk) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::int64_t> extents(1 + random() % 4);
    for (auto& extent : extents) extent = 1 + random() % 5;
    const Region region = joined(box_of(random, extents));
    const auto all = naive::numbers_in(region);
    const auto low = static_cast<std::int64_t>(random() % (all.size() + 1));
    const auto high = low + static_cast<std::int64_t>(random() % (all.size() + 1 - low));
    std::vector<std::size_t> places;
    for (const Region& piece : slice(region, low, high)) {
      EXPECT_TRUE(packed(piece, 0, 0).dense());
      for (const std::size_t place : naive::numbers_in(piece)) places.push_back(place);
    }
    EXPECT_EQ(places, std::vector<std::size_t>(all.begin() + low, all.begin() + high));
  }
}

TEST(Region, CopiesBetweenRegionsWithDifferentLoops) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> extents(1 + random() % 4);
    for (auto& extent : extents) extent = 1 + random() % 5;
    const Region from = box_of(random, extents), to = box_of(random, extents);
    std::vector<std::uint32_t> a(10'000), b(10'000), expected(10'000);
    for (auto& number : a) number = static_cast<std::uint32_t>(random());
    const auto read = naive::numbers_in(from), write = naive::numbers_in(to);
    for (std::size_t i = 0; i < read.size(); ++i) expected[write[i]] = a[read[i]];
    copy_between(joined(from), joined(to))
        .run(reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()));
    EXPECT_EQ(b, expected);
    EXPECT_EQ(joined(from).dense(), from.dense());
  }
}

}  // namespace
}  // namespace weft::reshard::execute
