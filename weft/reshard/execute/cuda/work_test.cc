// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/work.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "weft/reshard/execute/cuda/naive_launch.h"

namespace weft::reshard::execute::cuda {
namespace {

TEST(Work, DivisorsAreExact) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto any = static_cast<std::uint32_t>(random() >> 1);
    const std::uint32_t divisor = 1 + (any >> random() % 31) % 0x7fffffffu;
    const Divisor by = make_divisor(divisor);
    for (const std::uint32_t number :
         {0u, 1u, divisor - 1, divisor, divisor + 1, any, 0x7fffffffu,
          0x7fffffffu / divisor * divisor, 0x7fffffffu / divisor * divisor - 1}) {
      if (number > 0x7fffffffu) continue;
      ASSERT_EQ(divided(number, by), number / divisor) << number << " / " << divisor;
    }
  }
}

struct RandomCopies {
  std::vector<Copy> copies;
  std::int64_t from = 0, to = 0;  ///< sizes of the two buffers in bytes
};

/// Copies between boxes of random arrays; their targets do not overlap.
RandomCopies random_copies(std::mt19937& random) {
  RandomCopies made;
  const std::int64_t element = std::int64_t{1} << random() % 5;
  const int count = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < count; ++i) {
    Copy copy{0, 1, made.from, made.to, element, Type::kBytes, Operation::kCopy, 0, {}};
    std::int64_t from = element, to = element;
    const int rank = static_cast<int>(random() % 8);
    for (int dim = 0; dim < rank; ++dim) {
      const std::int64_t extent = rank > 4 ? 1 + random() % 3 : 1 + random() % 12;
      copy.loops.push_back({extent, from, to});
      from *= extent + static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 : 0);
      to *= extent + static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 : 0);
    }
    made.from += from + element * static_cast<std::int64_t>(random() % 3);
    made.to += to + element * static_cast<std::int64_t>(random() % 3);
    made.copies.push_back(std::move(copy));
  }
  return made;
}

TEST(Work, CopiesEveryByteOnceWhateverTheAlignment) {
  std::mt19937 random(2);
  for (int i = 0; i < 600; ++i) {
    const RandomCopies made = random_copies(random);
    Memory from(made.from), expected(made.to, 0xaa), to(made.to, 0xaa);
    for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random());
    for (const Copy& copy : made.copies) {
      StridedCopy(copy.loops, copy.element)
          .run(reinterpret_cast<const std::byte*>(from.data()) + copy.from,
               reinterpret_cast<std::byte*>(expected.data()) + copy.to);
    }
    const auto element = static_cast<int>(made.copies[0].element);
    const bool aligned = random() % 2 == 0;
    const std::vector<Launch> launches =
        make_work(made.copies, {aligned ? 16 : element, aligned ? 16 : element});
    ASSERT_LE(launches.size(), 2u);
    const std::size_t address = aligned ? 0 : element * (random() % 16);
    for (const Launch& launch : launches) {
      for (const int times : run_warps(launch, from, to, address)) ASSERT_LE(times, 1);
    }
    ASSERT_EQ(run_copies(launches, from, to, address), expected) << "case " << i;
  }
}

TEST(Work, LongRowsOfWholeBlocksAreCopied16BytesAtATime) {
  const Copy copy{0, 1, 0, 64, 4, Type::kBytes, Operation::kCopy, 0, {{1000, 512, 64}, {16, 4, 4}}};
  const std::vector<Launch> launches = make_work({copy}, {16, 16});
  ASSERT_EQ(launches.size(), 1u);
  ASSERT_EQ(launches[0].boxes.size(), 1u);
  const BoxWork& box = launches[0].boxes[0];
  EXPECT_EQ(box.access, Access::kUnits);
  EXPECT_EQ(box.width, 16);
  EXPECT_EQ(box.loops, 1);
  EXPECT_EQ(box.slots, 4000u);
  EXPECT_EQ(launches[0].warps.size(), 16u);
  // If an address is aligned to 4 bytes only, blocks have to be shifted.
  const Copy apart{0, 1, 0, 64, 4, Type::kBytes, Operation::kCopy, 0, {{9, 512, 128}, {16, 4, 4}}};
  EXPECT_EQ(make_work({apart}, {4, 16})[0].boxes[0].access, Access::kShifted);
}

TEST(Work, BoxesAdvanceAtTheSameRate) {
  const Copy copy{0, 1, 0, 0, 4, Type::kBytes, Operation::kCopy, 0, {{1024, 512, 64}, {16, 4, 4}}};
  Copy other = copy;
  other.from = 64;
  other.to = 1 << 16;
  const Launch launch = make_work({copy, other}, {16, 16})[0];
  ASSERT_EQ(launch.warps.size(), 32u);
  for (std::size_t i = 0; i < launch.warps.size(); ++i) {
    EXPECT_EQ(launch.warps[i].box, i % 2);
    EXPECT_EQ(launch.warps[i].first, i / 2 * kSlotsOfWarp);
  }
}

TEST(Work, BoxesTooLargeFor32BitNumbersAreDivided) {
  const std::int64_t gigabyte = std::int64_t{1} << 30;
  const Copy copy{0,
                  1,
                  0,
                  0,
                  2,
                  Type::kBytes,
                  Operation::kCopy,
                  0,
                  {{5, 9 * gigabyte, 4 * gigabyte}, {2 * gigabyte, 2, 2}}};
  const std::vector<Launch> launches = make_work({copy}, {16, 16});
  std::int64_t bytes = 0;
  for (const BoxWork& box : launches[0].boxes) {
    EXPECT_LE(box.slots, 1u << 30);
    std::int64_t span = box.run;
    for (int i = 0; i < box.loops; ++i) {
      span += std::int64_t{box.loop[i].extent.divisor - 1} * box.loop[i].from;
    }
    EXPECT_LT(span, std::int64_t{1} << 32);
    bytes += std::int64_t{box.slots} * box.width;
  }
  EXPECT_EQ(bytes, 20 * gigabyte);
}

TEST(Work, AddendsOfOneBoxAreOneJobAndOverlapsWait) {
  const Copy first{1, 0, 0, 0, 4, Type::kF32, Operation::kSum, 0, {{8, 64, 128}, {16, 4, 4}}};
  Copy second = first;
  second.from_buffer = 2;
  Copy beside = first;  // the other half of the same rows
  beside.to = 64;
  Copy over = first;  // half a row to the right
  over.to = 32;
  const std::vector<Launch> launches = make_work({first, beside, second, over}, {16, 16, 16});
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kind, Launch::Kind::kCombine);
  ASSERT_EQ(launches[0].boxes.size(), 2u);
  EXPECT_EQ(launches[0].boxes[0].sources, 2u);
  EXPECT_EQ(launches[0].sources[0].buffer, 1);
  EXPECT_EQ(launches[0].sources[1].buffer, 2);
  EXPECT_EQ(launches[0].boxes[1].sources, 1u);
  ASSERT_EQ(launches[1].boxes.size(), 1u);
  EXPECT_EQ(launches[1].boxes[0].to, 32);

  // A copy that comes after the overlapping copy must not be added before it.
  const std::vector<Launch> ordered = make_work({first, over, second}, {16, 16, 16});
  ASSERT_EQ(ordered.size(), 3u);
  EXPECT_EQ(ordered[2].sources[0].buffer, 2);
}

TEST(Work, FillsComeFirstAndScalesLast) {
  const std::int64_t one = 0x3f800000;
  const Copy fill{Copy::kNoBuffer, 0, one, 0, 4, Type::kBytes, Operation::kCopy, 0, {{16, 0, 4}}};
  const Copy copy{1, 0, 0, 64, 4, Type::kBytes, Operation::kCopy, 0, {{16, 4, 4}}};
  const Copy add{1, 0, 0, 0, 4, Type::kF32, Operation::kSum, 0, {{16, 4, 4}}};
  const Copy scale{Copy::kNoBuffer, 0, 1, 0, 4, Type::kF32, Operation::kScale, 8, {{16, 0, 4}}};
  const std::vector<Launch> launches = make_work({scale, add, copy, fill}, {16, 16});
  ASSERT_EQ(launches.size(), 4u);
  std::uint32_t pattern[4];
  std::memcpy(pattern, launches[0].boxes[0].constant, sizeof pattern);
  for (const std::uint32_t word : pattern) EXPECT_EQ(word, one);
  EXPECT_EQ(launches[0].boxes[0].loops, 0) << "a row that is filled is one run";
  EXPECT_EQ(launches[1].kind, Launch::Kind::kCopy);
  EXPECT_EQ(launches[2].boxes[0].sources, 1u);
  EXPECT_EQ(launches[3].boxes[0].constant[1], 8);
}

TEST(Work, NothingToDoIsNoLaunch) {
  EXPECT_TRUE(make_work({}, {}).empty());
  const Copy empty{0, 1, 0, 0, 4, Type::kBytes, Operation::kCopy, 0, {{0, 4, 4}, {7, 4, 4}}};
  EXPECT_TRUE(make_work({empty}, {16, 16}).empty());
}

}  // namespace
}  // namespace weft::reshard::execute::cuda
