// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

std::string of(std::string_view text, std::vector<std::string_view> left_out = {}) {
  const auto value = parse_json(text, "text");
  EXPECT_TRUE(value) << value.error().text();
  return json_checksum(*value, left_out);
}

TEST(JsonChecksum, DependsOnTheValuesNotOnTheText) {
  EXPECT_EQ(of(R"({"a": [1, 2.5, true], "b": "x"})"), of(R"({"b":"x","a":[1.0,25e-1,true]})"));
  EXPECT_EQ(of("1").size(), 16u);
  EXPECT_EQ(of("100000"), of("1e+05"));
  EXPECT_EQ(of(R"("\u0061")"), of(R"("a")"));
}

TEST(JsonChecksum, ChangesWithEveryValue) {
  const char* different[] = {"{}",
                             "[]",
                             "[[]]",
                             "[1]",
                             "[2]",
                             "[1,2]",
                             "[12]",
                             "[\"1\"]",
                             "[1.5]",
                             "[true]",
                             "[false]",
                             "[null]",
                             R"({"a":1})",
                             R"({"b":1})",
                             R"({"a":[1]})",
                             R"(["a","b"])",
                             R"(["ab"])",
                             R"(["a",["b"]])",
                             "-1",
                             "1",
                             "1.4",
                             "9007199254740993",
                             "9007199254740992"};
  std::vector<std::string> seen;
  for (const char* text : different) {
    const std::string sum = of(text);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), sum), 0) << text;
    seen.push_back(sum);
  }
}

TEST(JsonChecksum, LeavesOutMembersByName) {
  EXPECT_EQ(of(R"({"a":1,"name":"x","c":{"name":2}})", {"name"}), of(R"({"a":1,"c":{}})"));
  EXPECT_NE(of(R"({"a":1,"c":["name"]})", {"name"}), of(R"({"a":1,"c":[]})"));
}

}  // namespace
}  // namespace weft
