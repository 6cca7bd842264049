// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/program.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "weft/pipeline/schedule/families.h"

namespace weft::pipeline::recorded {
namespace {

Pipeline outline(std::int32_t stages, std::int32_t devices, Micro micros) {
  Pipeline pipeline;
  pipeline.micro_batches = micros;
  for (std::int32_t s = 0; s < stages; ++s) {
    Stage stage;
    stage.device = s % devices;
    pipeline.stages.push_back(stage);
  }
  pipeline.boundaries.resize(static_cast<std::size_t>(stages - 1));
  return pipeline;
}

Program program_of(const char* name, const Pipeline& pipeline) {
  return torch_program(name, pipeline, family(name, pipeline).value()).value();
}

/// Prints a program: "0F0 [>f0 <b0] w0 ...". Brackets are a post, > sends, < receives; f and b are
/// forward and backward messages with their micro-batch; w0 waits for post 0.
std::string print(const std::vector<Instruction>& program) {
  std::string text;
  for (const Instruction& instruction : program) {
    if (!text.empty()) text += ' ';
    switch (instruction.kind) {
      case Instruction::Kind::kCompute:
        text += pipeline::print(instruction.op);
        break;
      case Instruction::Kind::kPost:
        text += '[';
        for (const End& end : instruction.batch) {
          if (text.back() != '[') text += ' ';
          text += end.sends ? '>' : '<';
          text += end.message.is_backward ? 'b' : 'f';
          text += std::to_string(end.message.micro);
        }
        text += ']';
        break;
      case Instruction::Kind::kWait:
        text += "w" + std::to_string(instruction.post);
        break;
    }
  }
  return text;
}

TEST(TorchProgram, OneFOneBSendsAndReceivesTogetherWhereTheKindOfOpChanges) {
  const Program program = program_of("1f1b", outline(2, 2, 3));
  EXPECT_EQ(print(program.devices[0]),
            "0F0 [>f0] 0F1 w0 [>f1 <b0] w1 0B0 0F2 [>f2 <b1] w2 0B1 [<b2] w3 0B2");
  EXPECT_EQ(print(program.devices[1]),
            "[<f0] w0 1F0 1B0 [>b0 <f1] w1 1F1 1B1 [>b1 <f2] w2 1F2 1B2 [>b2] w3");
}

TEST(TorchProgram, GPipeSendsAlone) {
  const Program program = program_of("gpipe", outline(2, 2, 2));
  EXPECT_EQ(print(program.devices[0]), "0F0 [>f0] 0F1 [>f1] w0 w1 [<b0] w2 0B0 [<b1] w3 0B1");
}

/// Checks what a program needs to run to its end: both sides of every message are posted once, and
/// two devices post their common messages in the same order.
void expect_sound(const Pipeline& pipeline, const Program& program) {
  std::map<Message, int> ends;
  std::size_t computed = 0;
  for (const auto& device : program.devices) {
    std::size_t posts = 0;
    for (const Instruction& instruction : device) {
      computed += instruction.kind == Instruction::Kind::kCompute;
      if (instruction.kind == Instruction::Kind::kWait) {
        EXPECT_LT(instruction.post, posts);
      }
      if (instruction.kind != Instruction::Kind::kPost) continue;
      ++posts;
      EXPECT_FALSE(instruction.batch.empty());
      for (const End& end : instruction.batch) ends[end.message] += end.sends ? 1 : 100;
    }
  }
  const auto micros = static_cast<std::size_t>(pipeline.micro_batches);
  EXPECT_EQ(computed, 2 * micros * pipeline.stages.size());
  EXPECT_EQ(ends.size(), 2 * micros * pipeline.boundaries.size());
  for (const auto& [message, count] : ends) EXPECT_EQ(count, 101);
}

TEST(TorchProgram, PostsBothEndsOfEveryMessageOnce) {
  for (const std::int32_t devices : {2, 3, 4}) {
    for (const Micro micros : {4, 8, 12}) {
      for (const char* name : {"1f1b", "gpipe"}) {
        const Pipeline pipeline = outline(devices, devices, micros);
        expect_sound(pipeline, program_of(name, pipeline));
      }
      const Pipeline pipeline = outline(2 * devices, devices, micros);
      expect_sound(pipeline, program_of("interleaved", pipeline));
    }
  }
}

TEST(TorchProgram, InterleavedPostsAReceiveWhenItsSenderDoes) {
  const Program program = program_of("interleaved", outline(4, 2, 2));
  EXPECT_EQ(print(program.devices[1]).substr(0, 62),
            "[<f0] w0 1F0 [>f0] [<f1] w2 1F1 [>f1] [<f0] w4 3F0 [<f1] 3B0 [");
}

TEST(TorchProgram, OtherFamiliesAreRefused) {
  const Pipeline pipeline = outline(2, 2, 4);
  const auto program = torch_program("zb-h1", pipeline, zb_h1(pipeline).value());
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, ErrorCode::kUsage);
}

TEST(TorchProgram, SomeNumbersOfMicroBatchesAreRefusedByTorch) {
  EXPECT_TRUE(torch_takes("1f1b", outline(4, 4, 4)));
  EXPECT_FALSE(torch_takes("1f1b", outline(4, 4, 3)));
  EXPECT_TRUE(torch_takes("gpipe", outline(4, 4, 1)));
  EXPECT_TRUE(torch_takes("interleaved", outline(8, 4, 3)));
  EXPECT_TRUE(torch_takes("interleaved", outline(8, 4, 10)));
  EXPECT_FALSE(torch_takes("interleaved", outline(8, 4, 9)));
}

}  // namespace
}  // namespace weft::pipeline::recorded
