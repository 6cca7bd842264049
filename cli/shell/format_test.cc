// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/format.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(Format, ChoosesTheUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1'000), "1.0 kB");
  EXPECT_EQ(format_bytes(999'600), "1.0 MB");
  EXPECT_EQ(format_bytes(54'000'000), "54 MB");
  EXPECT_EQ(format_time(950), "950 ns");
  EXPECT_EQ(format_time(12'340), "12.3 us");
  EXPECT_EQ(format_time(81'570'000), "81.57 ms");
  EXPECT_EQ(format_time(2'214'400'000), "2.21 s");
  EXPECT_EQ(format_ms(81'570'000), "81.6");
  EXPECT_EQ(format_ms(350'000), "0.350");
  EXPECT_EQ(format_ms(1'056'600'000), "1057");
}

TEST(Format, GroupsDigits) {
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'000), "1,000");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
}

TEST(Format, JoinsNeighbouringNumbers) {
  EXPECT_EQ(format_numbers({}), "");
  EXPECT_EQ(format_numbers({5}), "5");
  EXPECT_EQ(format_numbers({0, 1, 2, 3, 5, 7, 8}), "0-3, 5, 7, 8");
  EXPECT_EQ(name_ranks({5}), "rank 5");
  EXPECT_EQ(name_ranks({0, 1, 2, 5}), "ranks 0-2, 5");
}

TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrap("one two three", 8, 2), (std::vector<std::string>{"one two", "  three"}));
  EXPECT_EQ(wrap("one two three", 0, 2), std::vector<std::string>{"one two three"});
  EXPECT_EQ(wrap("incomprehensibilities are", 5, 2),
            (std::vector<std::string>{"incomprehensibilities", "  are"}))
      << "a word is never cut";
}

}  // namespace
}  // namespace weft::cli
