// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weft::reshard::execute::cuda {
namespace {

std::set<std::int64_t> bytes_of(const Copy& copy) {
  std::set<std::int64_t> places{copy.to};
  for (const CopyLoop& loop : copy.loops) {
    std::set<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < loop.extent; ++i) next.insert(place + i * loop.to);
    }
    places = std::move(next);
  }
  std::set<std::int64_t> bytes;
  for (const std::int64_t place : places) {
    for (std::int64_t i = 0; i < copy.element; ++i) bytes.insert(place + i);
  }
  return bytes;
}

/// A box of an array of 3 x 4 x 5 elements of 4 bytes.
Copy random_box(std::mt19937& random) {
  const std::int64_t shape[3] = {3, 4, 5}, strides[3] = {80, 20, 4};
  Copy copy{0, 0, 0, 0, 4, Type::kF32, Operation::kSum, 0, {}};
  for (int dim = 0; dim < 3; ++dim) {
    const auto low = static_cast<std::int64_t>(random() % shape[dim]);
    const auto extent = 1 + static_cast<std::int64_t>(random() % (shape[dim] - low));
    copy.to += low * strides[dim];
    copy.loops.push_back({extent, 0, strides[dim]});
  }
  return copy;
}

TEST(Overlap, IsExactForBoxesOfOneArray) {
  std::mt19937 random(1);
  int apart = 0;
  for (int i = 0; i < 5000; ++i) {
    const Copy a = random_box(random), b = random_box(random);
    const std::set<std::int64_t> in_a = bytes_of(a), in_b = bytes_of(b);
    bool common = false;
    for (const std::int64_t byte : in_a) common = common || in_b.count(byte) > 0;
    ASSERT_EQ(targets_may_overlap(a, b), common) << i;
    apart += !common;
  }
  EXPECT_GT(apart, 500);
}

TEST(Overlap, IsAssumedIfStridesDoNotDivideEachOther) {
  const Copy a{0, 0, 0, 0, 4, Type::kF32, Operation::kSum, 0, {{4, 0, 12}}};
  const Copy b{0, 0, 0, 4, 4, Type::kF32, Operation::kSum, 0, {{4, 0, 20}}};
  EXPECT_TRUE(targets_may_overlap(a, b));
  Copy elsewhere = b;
  elsewhere.to_buffer = 1;
  EXPECT_FALSE(targets_may_overlap(a, elsewhere));
}

}  // namespace
}  // namespace weft::reshard::execute::cuda
