// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "weft/reshard/execute/host/copy_rows.h"

namespace weft::reshard {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Copies element by element.
void copy_plainly(const std::vector<CopyLoop>& loops, std::size_t depth, std::int64_t element,
                  const std::byte* from, std::byte* to) {
  if (depth == loops.size()) {
    std::copy(from, from + element, to);
    return;
  }
  for (std::int64_t i = 0; i < loops[depth].extent; ++i) {
    copy_plainly(loops, depth + 1, element, from + i * loops[depth].from, to + i * loops[depth].to);
  }
}

/// A box within two row-major arrays, which are up to 3 larger than the box in each dimension.
struct MadeBox {
  std::vector<CopyLoop> loops;
  std::int64_t from_size, to_size;
};
MadeBox make_box(const std::vector<std::int64_t>& extents, std::int64_t element,
                 std::mt19937& random) {
  MadeBox box{{}, element, element};
  for (std::size_t d = extents.size(); d-- > 0;) {
    box.loops.insert(box.loops.begin(), {extents[d], box.from_size, box.to_size});
    box.from_size *= extents[d] + (random() % 2 ? random() % 4 : 0);
    box.to_size *= extents[d] + (random() % 2 ? random() % 4 : 0);
  }
  return box;
}

TEST(StridedCopy, WritesTheBoxAndNothingElse) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const std::int64_t element = std::int64_t{1} << random() % 5;
    std::vector<std::int64_t> extents(random() % 5);
    for (std::int64_t& extent : extents) extent = 1 + random() % 9;
    if (!extents.empty()) extents.back() = 1 + random() % 70;
    MadeBox box = make_box(extents, element, random);
    const std::size_t shift = random() % 64;  // arrays may have any alignment
    const Bytes from = numbered(static_cast<std::size_t>(box.from_size) + shift);
    Bytes expected(static_cast<std::size_t>(box.to_size) + shift), found = expected;
    copy_plainly(box.loops, 0, element, from.data() + shift, expected.data() + shift);
    std::shuffle(box.loops.begin(), box.loops.end(), random);
    const StridedCopy copy(box.loops, element);
    copy.run(from.data() + shift, found.data() + shift);
    ASSERT_EQ(found, expected) << "trial " << trial;
    EXPECT_EQ(copy.bytes(), std::accumulate(extents.begin(), extents.end(), element,
                                            std::multiplies<std::int64_t>()));
  }
}

TEST(StridedCopy, JoinsContiguousLoops) {
  const StridedCopy whole({{4, 96, 96}, {6, 16, 16}, {4, 4, 4}}, 4);
  EXPECT_EQ(whole.run_bytes(), 384);
  EXPECT_TRUE(whole.loops().empty());
  const StridedCopy part({{4, 96, 48}, {3, 16, 16}, {4, 4, 4}}, 4);
  EXPECT_EQ(part.run_bytes(), 48);
  EXPECT_EQ(part.loops(), (std::vector<CopyLoop>{{4, 96, 48}}));
}

TEST(StridedCopy, TransposesToo) {
  const Bytes from = numbered(12);
  Bytes to(12);
  StridedCopy({{3, 4, 1}, {4, 1, 3}}, 1).run(from.data(), to.data());
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(to[c * 3 + r], from[r * 4 + c]);
  }
}

TEST(StridedCopy, CopiesNothingForAnEmptyBox) {
  const StridedCopy none({{0, 4, 4}, {4, 1, 1}}, 1);
  EXPECT_EQ(none.bytes(), 0);
  none.run(nullptr, nullptr);
}

TEST(StridedCopy, TransposesMoreThanATile) {
  constexpr std::int64_t kRows = 70, kColumns = 45, kDepth = 3;
  const Bytes from = numbered(kRows * kColumns * kDepth * 4);
  Bytes to(from.size()), expected(from.size());
  const std::vector<CopyLoop> loops = {{kDepth, kRows * kColumns * 4, kRows * kColumns * 4},
                                       {kRows, kColumns * 4, 4},
                                       {kColumns, 4, kRows * 4}};
  copy_plainly(loops, 0, 4, from.data(), expected.data());
  StridedCopy(loops, 4).run(from.data(), to.data());
  EXPECT_EQ(to, expected);
}

TEST(StridedCopy, RunTogetherWritesTheSameAsEachJobAlone) {
  // Copies columns of an array of 3 x 2500 rows to messages. All messages together are larger than
  // a slice.
  constexpr std::int64_t kRun = 400, kReceivers = 5, kRows = 2500;
  const StridedCopy copy({{3, kRows * kReceivers * kRun, kRows * kRun},
                          {kRows, kReceivers * kRun, kRun},
                          {kRun / 4, 4, 4}},
                         4);
  const Bytes array = numbered(static_cast<std::size_t>(kReceivers * copy.bytes()));
  Bytes each(array.size()), together(array.size());
  std::vector<CopyJob> jobs;
  for (std::int64_t i = 0; i < kReceivers; ++i) {
    copy.run(array.data() + i * kRun, each.data() + i * copy.bytes());
    jobs.push_back({&copy, array.data() + i * kRun, together.data() + i * copy.bytes()});
  }
  const StridedCopy whole({{7, 1, 1}}, 1);
  Bytes rest(7);
  jobs.push_back({&whole, array.data(), rest.data()});
  run_together(jobs);
  EXPECT_EQ(together, each);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), array.begin()));
}

TEST(StridedCopy, MessagesThatFillAdjacentRowsAreInterleaved) {
  // Four messages of 2 x 9000 rows of 100 bytes and one with rows of 60 bytes, at unequal distances
  // in memory, with and without a gap after each row of the array.
  for (const std::int64_t hole : {0, 3}) {
    constexpr std::int64_t kRun = 100, kRows = 9000, kPlanes = 2, kLast = 60;
    const std::int64_t pitch = 4 * kRun + kLast + hole;
    const auto loops = [&](std::int64_t run) {
      return std::vector<CopyLoop>{
          {kPlanes, kRows * run, kRows * pitch + 7}, {kRows, run, pitch}, {run, 1, 1}};
    };
    const StridedCopy alike(loops(kRun), 1), last(loops(kLast), 1);
    const Bytes messages =
        numbered(static_cast<std::size_t>(4 * (alike.bytes() + 50) + last.bytes()));
    Bytes each(static_cast<std::size_t>(kPlanes * (kRows * pitch + 7))), together = each;
    std::vector<CopyJob> jobs;
    std::int64_t at = 0;
    for (int i = 0; i < 5; ++i) {
      const StridedCopy& copy = i < 4 ? alike : last;
      copy.run(messages.data() + at, each.data() + i * kRun);
      jobs.push_back({&copy, messages.data() + at, together.data() + i * kRun});
      at += copy.bytes() + i * 13;
    }
    run_together(jobs);
    EXPECT_TRUE(together == each) << "hole " << hole;
  }
}

TEST(CopyRows, InterleavedRowsAlternate) {
  constexpr std::int64_t kCount = 5;
  for (const std::int64_t bytes : {64, 65, 80, 127, 128, 1000}) {
    for (const std::size_t shift : {0, 1, 32, 63}) {
      for (const std::size_t places : {1, 2, 3}) {
        const Bytes memory = numbered(static_cast<std::size_t>(kCount * bytes) + 500);
        std::vector<const std::byte*> from;
        for (std::size_t i = 0; i < places; ++i) from.push_back(memory.data() + i * i * 37);
        Bytes expected(places * static_cast<std::size_t>(kCount * bytes) + 128, std::byte{7});
        std::byte* to = expected.data() + shift;
        for (std::int64_t i = 0; i < kCount; ++i) {
          for (const std::byte* place : from) to = std::copy_n(place + i * (bytes + 9), bytes, to);
        }
        for (const Vectors vectors : {Vectors::kNone, Vectors::kAvx2, Vectors::kAvx512}) {
          if (vectors > available_vectors()) continue;
          Bytes found(expected.size(), std::byte{7});
          copy_interleaved_rows({from, bytes + 9, found.data() + shift, bytes, kCount}, vectors);
          finish_copies();
          ASSERT_EQ(found, expected) << bytes << " bytes, shift " << shift << ", places " << places
                                     << ", vectors " << static_cast<int>(vectors);
        }
      }
    }
  }
}

/// Large copies use other functions than the small random boxes above.
TEST(CopyRows, AllFunctionsDoTheSame) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  for (const std::int64_t bytes : {1, 3, 16, 31, 32, 33, 63, 64, 65, 100, 128, 1000, 4096, 5000}) {
    for (const std::int64_t gap : {0, 1, 64}) {
      for (const std::size_t shift : {0, 1, 32, 63}) {
        const std::int64_t count = 37, step = bytes + gap;
        const Bytes from = numbered(static_cast<std::size_t>(step * count) + 64);
        // Bytes around the rows must not change.
        Bytes expected(from.size() + 64, std::byte{7});
        for (std::int64_t i = 0; i < count; ++i) {
          std::copy_n(from.data() + i * step, bytes, expected.data() + shift + i * step);
        }
        for (const std::int64_t all : {std::int64_t{0}, kLarge}) {
          for (const Vectors vectors : {Vectors::kNone, Vectors::kAvx2, Vectors::kAvx512}) {
            if (vectors > available_vectors()) continue;
            Bytes found(expected.size(), std::byte{7});
            choose_copy_rows(bytes, step, all, vectors)(
                {from.data(), step, found.data() + shift, step, bytes, count, from.data()});
            finish_copies();
            ASSERT_EQ(found, expected) << bytes << " bytes, gap " << gap << ", shift " << shift
                                       << ", vectors " << static_cast<int>(vectors);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::reshard
