// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/packed/integers.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace weft::trace::packed {
namespace {

using Values = std::vector<std::int64_t>;
using Keys = std::vector<std::uint32_t>;

void expect_round_trip(const Values& values, const Keys& keys) {
  for (std::uint8_t prediction = 0; prediction < (keys.empty() ? kPredictions - 1 : kPredictions);
       ++prediction) {
    for (std::uint8_t layout = 0; layout < kLayouts; ++layout) {
      const std::string bytes =
          encode(values, keys, static_cast<Prediction>(prediction), static_cast<Layout>(layout));
      Values back(values.size(), -7);
      EXPECT_TRUE(decode(bytes, keys, back));
      EXPECT_EQ(back, values) << "prediction " << int{prediction} << ", layout " << int{layout};
    }
  }
}

TEST(PackedIntegers, RoundTripAtTheLimitsOfTheRange) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  expect_round_trip({}, {});
  expect_round_trip({0}, {0});
  expect_round_trip({kLow, kHigh, kLow, 0, -1, 1, kHigh, kHigh}, {0, 1, 0, 1, 2, 2, 0, 1});
}

TEST(PackedIntegers, RoundTripWithRandomValues) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = random() % 300;
    const int bits = static_cast<int>(random() % 64);
    Values values;
    Keys keys;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<std::int64_t>(random()) >> bits);
      keys.push_back(static_cast<std::uint32_t>(random() % 9));
    }
    expect_round_trip(values, keys);
  }
}

TEST(PackedIntegers, PredictionByKeyHelpsWithInterleavedRows) {
  Values values;
  Keys keys;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(i % 2 == 0 ? 1'000'000 + i : i);
    keys.push_back(static_cast<std::uint32_t>(i % 2));
  }
  EXPECT_LT(encode(values, keys, Prediction::kPreviousSameKey, Layout::kVarint).size(), 1010u);
  EXPECT_GT(encode(values, keys, Prediction::kPrevious, Layout::kVarint).size(), 2500u);
}

TEST(PackedIntegers, RefuseBytesOfAnotherLength) {
  const Values values{1, 2, 300, 70000};
  for (const Layout layout : {Layout::kVarint, Layout::kBytePlanes}) {
    const std::string bytes = encode(values, {}, Prediction::kPrevious, layout);
    Values back(values.size());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      // If only whole byte planes are cut off, the rest is a valid encoding of other numbers.
      if (layout == Layout::kBytePlanes && cut >= 2 && (cut - 2) % values.size() == 0) continue;
      EXPECT_FALSE(decode(std::string_view(bytes).substr(0, cut), {}, back)) << cut;
    }
    EXPECT_FALSE(decode(bytes + '\0', {}, back));
  }
  EXPECT_FALSE(decode(std::string("\x03\x00", 2), {}, {}));
  EXPECT_FALSE(decode(std::string("\x00\x02", 2), {}, {}));
}

TEST(PackedIntegers, RefuseKeysOfAnotherLength) {
  const Values values{1, 2, 3};
  const std::string bytes =
      encode(values, Keys{0, 1, 0}, Prediction::kPreviousSameKey, Layout::kVarint);
  Values back(3);
  EXPECT_FALSE(decode(bytes, {}, back));
  EXPECT_FALSE(decode(bytes, Keys{0, 1}, back));
  EXPECT_FALSE(decode(bytes, Keys{0, kLargestKey, 0}, back));
}

TEST(PackedVarint, HoldsSixtyFourBitsAndNoMore) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                    std::numeric_limits<std::uint64_t>::max()}) {
    std::string bytes;
    append_varint(bytes, value);
    std::string_view rest = bytes;
    std::uint64_t back = 1;
    ASSERT_TRUE(take_varint(rest, back));
    EXPECT_EQ(back, value);
    EXPECT_TRUE(rest.empty());
  }
  std::uint64_t value = 0;
  std::string_view too_much("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  EXPECT_FALSE(take_varint(too_much, value));
  std::string_view cut("\x80\x80");
  EXPECT_FALSE(take_varint(cut, value));
}

}  // namespace
}  // namespace weft::trace::packed
