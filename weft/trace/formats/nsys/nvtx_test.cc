// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/nsys/nvtx.h"

#include <gtest/gtest.h>

namespace weft::trace::nsys {
namespace {

TEST(NvtxText, ArgumentsAreRemovedFromOperatorNames) {
  const RangeText plain = parse_range("forward, part one");
  EXPECT_FALSE(plain.is_op);
  EXPECT_EQ(plain.name, "forward, part one");
  const RangeText op = parse_range("aten::mm, seq = 12, op_id = 7, sizes = [[4], []], more = [1]");
  EXPECT_TRUE(op.is_op);
  EXPECT_EQ(op.name, "aten::mm");
  EXPECT_EQ(op.sequence, 12);
  EXPECT_EQ(op.sizes, "[[4], []]");
  const RangeText cut = parse_range("x, op_id = 7, sizes = [[4");
  EXPECT_EQ(cut.name, "x");
  EXPECT_EQ(cut.sizes, "");
  EXPECT_EQ(cut.sequence, -1);
}

TEST(NvtxText, StepsAreRecognisedByName) {
  for (const char* name : {"step 5", "Step: 5", "step_5", "train_step 5", "training-step#5"}) {
    EXPECT_EQ(parse_step(name).sort, StepSort::kStep) << name;
    EXPECT_EQ(parse_step(name).number, 5) << name;
  }
  EXPECT_EQ(parse_step("ProfilerStep#12").sort, StepSort::kProfilerStep);
  EXPECT_EQ(parse_step("Iteration 3").sort, StepSort::kIteration);
  EXPECT_EQ(parse_step("iter3").number, 3);
  EXPECT_EQ(parse_step("training step").sort, StepSort::kUnnumbered);
  for (const char* name : {"", "optimizer.step", "Optimizer.step#Adam.step", "step 5 forward",
                           "substep 4", "step 99999999999", "5", "stepping 3"}) {
    EXPECT_EQ(parse_step(name).sort, StepSort::kNone) << name;
  }
}

TEST(NvtxText, PayloadsOfNcclAreFoundAtAnyDepth) {
  EXPECT_FALSE(parse_nccl_payload(""));
  EXPECT_FALSE(parse_nccl_payload("{"));
  EXPECT_FALSE(parse_nccl_payload(R"({"other": 3})"));
  const auto payload = parse_nccl_payload(
      R"({"p":[{"NCCL communicator ID":"0x7f","Message size [bytes]":4096,"Peer rank":-3}]})");
  ASSERT_TRUE(payload);
  EXPECT_EQ(payload->communicator, "0x7f");
  EXPECT_EQ(payload->bytes, 4096);
  EXPECT_EQ(payload->peer, -1);
}

}  // namespace
}  // namespace weft::trace::nsys
