// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/assemble.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/simulate.h"
#include "weft/sim/replay.h"

namespace weft::pipeline::recorded {
namespace {

/// A piece whose host time is so short that only the device matters.
Piece on_device(Nanos work) {
  return {.host_host = 0, .host_device = work, .device_device = work, .work = work};
}

/// A recording of one step; all layers of a stage are equal.
Recording made(const std::vector<Nanos>& forward, const std::vector<Nanos>& backward,
               std::int32_t layers, Micro micros, const MessageCost& message) {
  Recording recording;
  recording.steps = {0};
  recording.micro_batches = micros;
  recording.messages = MessageModel(message, message);
  for (std::size_t s = 0; s < forward.size(); ++s) {
    StageRecord& stage = recording.stages.emplace_back();
    stage.rank = static_cast<std::int32_t>(s);
    stage.layers = layers;
    StageStep& step = stage.steps.emplace_back();
    step.forwards.assign(static_cast<std::size_t>(micros),
                         Pass(static_cast<std::size_t>(layers), on_device(forward[s])));
    step.backwards.assign(static_cast<std::size_t>(micros),
                          Pass(static_cast<std::size_t>(layers), on_device(backward[s])));
  }
  return recording;
}

Nanos makespan(const Recording& recording, const char* name, std::int32_t stages, Micro micros,
               Pipeline* pipeline_out = nullptr) {
  const auto dealt = divide_layers(recording, stages).value();
  Pipeline pipeline;
  pipeline.micro_batches = micros;
  for (const StageLayers& layers : dealt) {
    Stage stage;
    stage.device = layers.device;
    stage.forward = forward_piece(recording, layers, 0, 1).device_device;
    stage.input = backward_piece(recording, layers, 0, 1).device_device;
    pipeline.stages.push_back(stage);
  }
  pipeline.boundaries.resize(dealt.size() - 1);
  const Schedule schedule = family(name, pipeline).value();
  const auto graph =
      assemble(recording, dealt, torch_program(name, pipeline, schedule).value()).value();
  EXPECT_TRUE(graph::verify(graph).has_value());
  sim::Replay replay(graph);
  replay.run();
  if (pipeline_out) *pipeline_out = pipeline;
  return replay.makespan();
}

TEST(Assemble, WithoutHostAndMessagesAStepIsThatOfTheSimulator) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const std::size_t ranks = 2 + random() % 3;
    std::vector<Nanos> forward(ranks), backward(ranks);
    for (Nanos& time : forward) time = 1 + random() % 50;
    for (Nanos& time : backward) time = 1 + random() % 90;
    const auto micros = static_cast<Micro>(ranks * (1 + random() % 3));
    const Recording recording = made(forward, backward, 2, micros, {});
    for (const char* name : {"1f1b", "gpipe", "interleaved"}) {
      const auto stages =
          static_cast<std::int32_t>(name == std::string("interleaved") ? 2 * ranks : ranks);
      Pipeline pipeline;
      const Nanos time = makespan(recording, name, stages, micros, &pipeline);
      const auto simulated = simulate(pipeline, family(name, pipeline).value()).value();
      // With several stages per rank, a receive that waits delays the sends after it.
      const bool several = stages > static_cast<std::int32_t>(ranks);
      EXPECT_GE(time, simulated.makespan) << name;
      if (!several) {
        EXPECT_EQ(time, simulated.makespan) << name;
      }
    }
  }
}

TEST(Assemble, MicroBatchesBeyondTheRecordedOnesCostWhatThoseDo) {
  const Recording recording = made({10, 10}, {20, 20}, 1, 4, {});
  EXPECT_EQ(makespan(recording, "gpipe", 2, 4), 5 * 30);
  EXPECT_EQ(makespan(recording, "gpipe", 2, 9), 10 * 30);
}

TEST(Assemble, ASenderGoesOnBeforeTheReceiverHasCome) {
  const MessageCost message{.arrival = 100, .receive = 60, .send = 40, .send_after_receive = -1};
  const Recording recording = made({10, 10}, {20, 20}, 1, 1, message);
  // The step: F on rank 0, a message, F and B on rank 1, a message, B on rank 0.
  EXPECT_EQ(makespan(recording, "gpipe", 2, 1), 10 + 100 + 30 + 100 + 20);
}

TEST(Assemble, AHostThatLaunchesSlowlyBoundsTheStep) {
  Recording recording = made({10, 10}, {20, 20}, 1, 4, {});
  for (StageRecord& stage : recording.stages) {
    for (Pass& pass : stage.steps.front().forwards) {
      pass.front().host_host = 1000;
      pass.front().host_device = 1010;
    }
  }
  // Each rank issues four forwards, and issuing one takes 1000 ns. The last forward then still has
  // to run on the two devices.
  EXPECT_EQ(makespan(recording, "gpipe", 2, 4), 4 * 1000 + 2 * 10 + 4 * 20 + 20);
}

TEST(DivideLayers, PutsLayersInModelOrderOnStagesOfTheRanksInTurn) {
  const Recording recording = made({1, 1}, {1, 1}, 3, 2, {});
  const auto dealt = divide_layers(recording, 4).value();
  EXPECT_EQ(dealt[0].last, 1);
  EXPECT_EQ(dealt[1].last, 3);
  EXPECT_EQ(dealt[3].last, 6);
  EXPECT_EQ(dealt[2].device, 0);
  EXPECT_EQ(dealt[3].device, 1);
}

TEST(DivideLayers, RefusesMoreStagesThanLayers) {
  const auto dealt = divide_layers(made({1, 1}, {1, 1}, 1, 2, {}), 4);
  ASSERT_FALSE(dealt.has_value());
  EXPECT_EQ(dealt.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::pipeline::recorded
