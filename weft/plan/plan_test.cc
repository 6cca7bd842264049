// SPDX-License-Identifier: Apache-2.0
#include "weft/plan/plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weft/base/file.h"

namespace weft::plan {
namespace {

constexpr const char* kText = R"({
  "plan_version": 1,
  "changes": [
    {
      "key": "ddp.bucket_mb",
      "value": "100"
    },
    {
      "key": "rank:2.compute",
      "value": "0.5x"
    }
  ],
  "predicted_step_ms": 70.25,
  "baseline_step_ms": 80.5,
  "inputs": [
    "traces/"
  ]
}
)";

std::string refusal(std::string text, const std::string& old_part, const std::string& new_part) {
  text.replace(text.find(old_part), old_part.size(), new_part);
  const auto plan = parse_plan(text, "p.json");
  EXPECT_FALSE(plan);
  if (plan) return "";
  EXPECT_EQ(plan.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(plan.error().file, "p.json");
  return plan.error().message;
}

TEST(Plan, ParsedPlanPrintsTheSameText) {
  const auto plan = parse_plan(kText, "p.json");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->predicted_step, 70'250 * kMicrosecond);
  EXPECT_EQ(print_plan(*plan), kText);
  EXPECT_EQ(questions(*plan),
            (std::vector<std::string>{"ddp.bucket_mb=100", "rank:2.compute=0.5x"}));
}

TEST(Plan, KeepsTheTextOfWhatIfs) {
  const std::vector<predict::WhatIf> asked = {*predict::parse_what_if("network.bandwidth=2x"),
                                              *predict::parse_what_if("comm=off")};
  Plan plan;
  plan.changes = changes_of(asked);
  EXPECT_EQ(questions(plan), (std::vector<std::string>{"network.bandwidth=2x", "comm=off"}));
}

TEST(Plan, AcceptsNumbersAsValues) {
  std::string text = kText;
  text.replace(text.find("\"100\""), 5, "100");
  const auto plan = parse_plan(text, "p.json");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->changes[0].value, "100");
}

TEST(Plan, RefusesAnotherVersion) {
  EXPECT_NE(refusal(kText, "\"plan_version\": 1", "\"plan_version\": 2").find("version"),
            std::string::npos);
  EXPECT_NE(refusal(kText, "plan_version", "version").find("no plan"), std::string::npos);
}

TEST(Plan, RefusesUnknownAndRepeatedFields) {
  EXPECT_NE(refusal(kText, "ddp.bucket_mb", "ddp.bucket_kb").find("ddp.bucket_kb"),
            std::string::npos);
  EXPECT_NE(refusal(kText, "\"inputs\"", "\"deadline\": 1, \"inputs\"").find("'deadline'"),
            std::string::npos);
  EXPECT_NE(refusal(kText, "\"value\": \"100\"", "\"value\": \"100\", \"rank\": 1").find("'rank'"),
            std::string::npos);
  EXPECT_NE(refusal(kText, "\"inputs\"", "\"changes\": [], \"inputs\"").find("twice"),
            std::string::npos);
}

TEST(Plan, RefusesFieldsOfTheWrongType) {
  refusal(kText, "70.25", "\"soon\"");
  refusal(kText, "70.25", "-1");
  refusal(kText, "\"traces/\"", "7");
  refusal(kText, "\"key\": \"ddp.bucket_mb\",", "");
  EXPECT_FALSE(parse_plan("[]", "p.json"));
  EXPECT_FALSE(parse_plan("", "p.json"));
}

TEST(Plan, IsRecognisedByItsFirstBytes) {
  const std::string folder = ::testing::TempDir();
  const std::string plan = folder + "is_plan.json", other = folder + "is_no_plan.json";
  ASSERT_TRUE(write_file(plan, R"({"plan_version": 99)"));
  ASSERT_TRUE(write_file(other, R"({"traceEvents": []})"));
  EXPECT_TRUE(is_plan(plan));
  EXPECT_FALSE(is_plan(other));
  EXPECT_FALSE(is_plan(folder));
  EXPECT_FALSE(is_plan(folder + "missing"));
}

TEST(Plan, CanBeWrittenAndReadBack) {
  const std::string path = testing::TempDir() + "/weft_plan_test.json";
  const auto plan = parse_plan(kText, "p.json");
  ASSERT_TRUE(plan);
  ASSERT_TRUE(write_plan(path, *plan));
  const auto again = read_plan(path);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print_plan(*again), kText);
  std::filesystem::remove(path);
  const auto gone = read_plan(path);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace weft::plan
