// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/instances.h"

#include <gtest/gtest.h>

namespace weft::pipeline {
namespace {

TEST(Instances, AListHasTwoUnitsOfMemoryForEachForwardThatFits) {
  const auto list = parse_instances(
      R"({"note": "x", "instances": [{"family": "y", "P": 2, "M": 3, "f": [4, 5.0], "b": [6, 7],
          "w": [1, 2], "c": 9, "cap_F": 2, "opt": 188.5}]})",
      "test");
  ASSERT_TRUE(list) << list.error().text();
  const Pipeline& pipeline = list->front();
  EXPECT_EQ(pipeline.micro_batches, 3);
  EXPECT_EQ(pipeline.stages[1].forward, 5);
  EXPECT_EQ(pipeline.boundaries[0].backward.latency, 9);
  EXPECT_EQ(pipeline.memory_limits, (std::vector<Bytes>{4, 4}));
  EXPECT_EQ(pipeline.stages[0].forward_memory, 2);
  EXPECT_EQ(pipeline.stages[0].weight_memory, -1);
}

TEST(Instances, NamedOnesHaveMemoryOfTheirOwn) {
  const auto list = parse_instances(
      R"({"instances": {"a": {"P": 1, "M": 1, "f": [4], "b": [6], "w": [1], "comm": 0,
          "mem_f": [5], "mem_b": [-3], "mem_w": [-2], "max_mem": [7], "ref": {}}}})",
      "test");
  ASSERT_TRUE(list) << list.error().text();
  EXPECT_EQ(list->front().name, "a");
  EXPECT_EQ(list->front().stages[0].input_memory, -3);
  EXPECT_EQ(list->front().memory_limits, std::vector<Bytes>{7});
}

TEST(Instances, StagesMayShareDevices) {
  const auto list = parse_instances(
      R"({"instances": [{"M": 1, "f": [1, 1], "b": 1, "w": 1, "c": [0], "device": [0, 0],
          "all_reduce": [5, 0]}]})",
      "test");
  ASSERT_TRUE(list) << list.error().text();
  EXPECT_EQ(list->front().devices(), 1);
  EXPECT_EQ(list->front().stages[0].all_reduce, 5);
}

TEST(Instances, WhatCannotBeUsedIsNamed) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {R"({"cases": []})", "not a file of pipelines"},
      {R"({"instances": [{"P": 1, "M": 1, "f": [-1], "b": [1], "w": [1], "c": 0}]})",
       "instance 0: 'f' has a negative time, -1"},
      {R"({"instances": [{"P": 1, "M": 1, "f": [1], "w": [1], "c": 0}]})", "'b' is missing"},
      {R"({"instances": [{"P": 2, "M": 1, "f": [1], "b": [1, 1], "w": [1, 1], "c": 0}]})",
       "'f' has 1 numbers, not 2"},
      {R"({"instances": [{"P": 1, "M": 1, "f": [-0.50], "b": [1], "w": [1], "c": 0}]})",
       "'f' has a negative time, -0.5"},
      {R"({"instances": [{"P": 1, "M": 1, "f": [null], "b": [1], "w": [1], "c": 0}]})",
       "an element that is not a number"},
      {R"({"instances": [{"P": 1, "M": 0, "f": [1], "b": [1], "w": [1], "c": 0}]})", "'M'"},
      {R"({"instances": [{"P": 2, "M": 1, "f": 1, "b": 1, "w": 1}]})", "'c' is missing"},
      {R"({"instances": [{"P": 2, "M": 1, "f": 1, "b": 1, "w": 1, "c": -1}]})",
       "'c' has a negative"},
      {R"({"instances": []})", "there is no pipeline in it"},
      {R"({"instances": {}})", "there is no pipeline in it"},
      {R"({"instances": [{"P": 1, "M": 1000000, "f": 4000000000000, "b": 1, "w": 1, "c": 0}]})",
       "too large; use a coarser unit"},
      {R"({"instances": [3]})", "not a JSON object"},
      {R"({"instances": [)", ""},
  };
  for (const auto& [text, says] : cases) {
    const auto list = parse_instances(text, "test");
    ASSERT_FALSE(list) << text;
    EXPECT_NE(list.error().message.find(says), std::string::npos) << list.error().message;
  }
}

TEST(Instances, AMemoryThatHoldsNothingIsReadAnyway) {
  const auto list = parse_instances(
      R"({"instances": {"x": {"P": 1, "M": 2, "f": 1, "b": 1, "w": 1, "c": 0, "cap_F": 0}}})",
      "test");
  ASSERT_TRUE(list) << list.error().text();
  EXPECT_EQ(check(list->front()).error().message,
            "stage 0 needs a memory of 2 for one micro-batch, but device 0 has only 0");
}

TEST(Instances, DecimalsOfTimesAndSizesAreKept) {
  const auto list = parse_instances(
      R"({"instances": [{"M": 1, "f": [1.50, 2], "b": [5e-3, 0.25], "w": 25e1, "c": 0.1,
                         "mem_f": 0.5, "mem_b": -0.25, "mem_w": -0.25, "max_mem": 2}]})",
      "test");
  ASSERT_TRUE(list) << list.error().text();
  const Pipeline& pipeline = list->front();
  EXPECT_EQ(pipeline.decimals, 3);
  EXPECT_EQ(pipeline.stages[0].forward, 1500);
  EXPECT_EQ(pipeline.stages[0].input, 5);
  EXPECT_EQ(pipeline.stages[1].weight, 250'000);
  EXPECT_EQ(pipeline.boundaries[0].forward.latency, 100);
  EXPECT_EQ(pipeline.stages[0].forward_memory, 50);
  EXPECT_EQ(pipeline.memory_limits, (std::vector<Bytes>{200, 200}));
  EXPECT_EQ(print_time(pipeline, 1500), "1.5");
  EXPECT_EQ(print_time(pipeline, 5), "0.005");
  EXPECT_EQ(print_time(pipeline, -250'000), "-250");
  EXPECT_EQ(print_time(pipeline, 0), "0");
}

}  // namespace
}  // namespace weft::pipeline
