// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/tiled_copy.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/reshard/execute/cuda/naive_launch.h"

namespace weft::reshard::execute::cuda {
namespace {

Memory run_plainly(const std::vector<Copy>& copies, const Memory& from, Memory to) {
  for (const Copy& copy : copies) {
    StridedCopy(copy.loops, copy.element)
        .run(reinterpret_cast<const std::byte*>(from.data()) + copy.from,
             reinterpret_cast<std::byte*>(to.data()) + copy.to);
  }
  return to;
}

Copy turned(Copy copy) {
  std::swap(copy.from, copy.to);
  for (CopyLoop& loop : copy.loops) std::swap(loop.from, loop.to);
  return copy;
}

/// Messages of `planes` x `rows` rows of `run` bytes, which are adjacent in the rows of an array.
std::vector<Copy> strips(std::int64_t count, std::int64_t planes, std::int64_t rows,
                         std::int64_t run, std::int64_t element, std::int64_t hole) {
  const std::int64_t pitch = count * run + hole, plane = rows * pitch + hole;
  std::vector<Copy> copies;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    copies.push_back(
        {0,
         1,
         strip * planes * rows * run,
         hole + strip * run,
         element,
         Type::kBytes,
         Operation::kCopy,
         0,
         {{planes, rows * run, plane}, {rows, run, pitch}, {run / element, element, element}}});
  }
  return copies;
}

TEST(TiledCopy, AdjacentMessagesBecomeOne) {
  std::vector<Copy> copies = strips(4, 5, 3, 36, 4, 4);
  std::swap(copies[1], copies[2]);
  const std::vector<Launch> launches = make_work(copies, {16, 16});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kind, Launch::Kind::kTiled);
  ASSERT_EQ(launches[0].tiled.size(), 1u);
  const TiledCopy& tiled = launches[0].tiled[0];
  EXPECT_EQ(tiled.parts, 4u);
  EXPECT_EQ(tiled.part, 36u);
  EXPECT_EQ(tiled.parts_step, 540);
  EXPECT_EQ(tiled.rows, 15u);
  EXPECT_EQ(tiled.packs, 0);
  ASSERT_EQ(launches[0].tiles.size(), 1u);
  // Messages at unequal distances do not become one tiled copy.
  copies[3].from += 4;
  EXPECT_EQ(make_work(copies, {16, 16})[0].tiled.size(), 2u);
  // In the other direction, the messages also become one tiled copy.
  copies[3].from -= 4;
  for (Copy& copy : copies) copy = turned(copy);
  const std::vector<Launch> packing = make_work(copies, {16, 16});
  ASSERT_EQ(packing[0].tiled.size(), 1u);
  EXPECT_EQ(packing[0].tiled[0].packs, 1);
}

TEST(TiledCopy, RowsOfWholeSectorsAndLongRowsAreNotTiled) {
  EXPECT_EQ(make_work(strips(4, 1, 9, 64, 4, 0), {16, 16})[0].kind, Launch::Kind::kCopy);
  EXPECT_EQ(make_work(strips(4, 1, 9, 16384, 4, 4), {16, 16})[0].kind, Launch::Kind::kCopy);
  // If an address is aligned to the element only, ends of rows are not aligned.
  EXPECT_EQ(make_work(strips(4, 1, 9, 64, 4, 0), {4, 16})[0].kind, Launch::Kind::kTiled);
}

TEST(TiledCopy, WritesEveryByteAndNoOther) {
  std::mt19937 random(3);
  const auto one_of = [&](const std::vector<std::int64_t>& numbers) {
    return numbers[random() % numbers.size()];
  };
  int chosen = 0, by_rows = 0;
  for (int i = 0; i < 800; ++i) {
    const std::int64_t element = std::int64_t{1} << random() % 5;
    const std::int64_t run = element * one_of({1, 3, 5, 16, 17, 30, 64, 65, 100, 400});
    std::vector<Copy> copies =
        strips(one_of({1, 2, 3, 7, 40}), one_of({1, 2, 5}), one_of({2, 3, 9, 50}), run, element,
               element * one_of({0, 1, 3}));
    std::int64_t in_messages = 0, in_array = 0;
    for (const Copy& copy : copies) {
      in_messages = std::max(in_messages, copy.from + copy.loops[0].extent * copy.loops[0].from);
      in_array = std::max(in_array, copy.to + copy.loops[0].extent * copy.loops[0].to);
    }
    Memory from(static_cast<std::size_t>(in_messages)), to(static_cast<std::size_t>(in_array), 7);
    if (random() % 2 == 0) {
      for (Copy& copy : copies) copy = turned(copy);
      std::swap(from, to);
    }
    for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random());
    std::shuffle(copies.begin(), copies.end(), random);
    const bool aligned = random() % 2 == 0;
    const int alignment = aligned ? 16 : static_cast<int>(element);
    const std::vector<Launch> launches = make_work(copies, {alignment, alignment});
    const std::size_t address = aligned ? 0 : element * (random() % 16);
    for (const Launch& launch : launches) {
      chosen += launch.kind == Launch::Kind::kTiled ? 1 : 0;
      for (const TiledCopy& copy : launch.tiled) by_rows += copy.pitch != 0 ? 1 : 0;
    }
    ASSERT_TRUE(run_copies(launches, from, to, address) == run_plainly(copies, from, to))
        << "case " << i << ": " << copies.size() << " strips of " << run << " bytes, element "
        << element << ", at " << address;
  }
  EXPECT_GT(chosen, 200);
  EXPECT_GT(by_rows, 50);
}

}  // namespace
}  // namespace weft::reshard::execute::cuda
