// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/families.h"

#include <gtest/gtest.h>

#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {
namespace {

Nanos makespan(const Pipeline& pipeline, const char* name) {
  const auto schedule = family(name, pipeline);
  const auto timeline = simulate(pipeline, *schedule);
  return timeline->makespan;
}

Pipeline even_chain(StageId stages, Micro micros) {
  return make_chain(std::vector<Nanos>(stages, 5), std::vector<Nanos>(stages, 6),
                    std::vector<Nanos>(stages, 4), 0, micros);
}

TEST(Families, GpipeAndOneFOneBHaveTheTextbookBubble) {
  const Pipeline pipeline = even_chain(4, 12);
  EXPECT_EQ(makespan(pipeline, "gpipe"), (12 + 3) * 15);
  EXPECT_EQ(makespan(pipeline, "1f1b"), (12 + 3) * 15);
}

TEST(Families, HalvedBackwardsSaveTheTimeOfWeightsInTheBubble) {
  EXPECT_EQ(makespan(even_chain(4, 12), "zb-h1"), 201);
}

TEST(Families, InterleavingDividesTheBubble) {
  Pipeline pipeline = even_chain(8, 8);
  for (StageId s = 0; s < 8; ++s) pipeline.stages[s].device = s % 4;
  EXPECT_EQ(makespan(pipeline, "interleaved"), 8 * 30 + 3 * 15);
}

TEST(Families, OneStagePerDeviceMakesInterleavedPlain1F1B) {
  const Pipeline pipeline = even_chain(4, 8);
  EXPECT_EQ(*family("interleaved", pipeline), *family("1f1b", pipeline));
}

TEST(Families, OneFOneBHoldsAtMostOneForwardPerLaterStage) {
  Pipeline pipeline = even_chain(4, 12);
  for (Stage& stage : pipeline.stages) {
    stage.forward_memory = 2;
    stage.input_memory = stage.weight_memory = -1;
  }
  EXPECT_EQ(simulate(pipeline, *family("1f1b", pipeline))->peaks, (std::vector<Bytes>{8, 6, 4, 2}));
  const auto late = simulate(pipeline, *family("zb-h1", pipeline));
  for (const Bytes peak : late->peaks) EXPECT_LE(peak, 8);
}

TEST(Families, EveryFamilyRunsToItsEndForAnyNumberOfMicroBatches) {
  std::mt19937 random(3);
  for (DeviceId devices = 1; devices <= 5; ++devices) {
    for (Micro micros = 1; micros <= 13; ++micros) {
      for (const StageId chunks : {1, 2, 3}) {
        RandomShape shape{devices * chunks, devices, chunks == 2, micros, 0, 0};
        for (const bool is_v : {false, true}) {
          if (is_v && chunks != 2) continue;
          shape.is_v = is_v;
          const Pipeline pipeline = random_pipeline(shape, random);
          for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe-v"}) {
            const auto schedule = family(name, pipeline);
            if (!schedule) continue;
            const auto timeline = simulate(pipeline, *schedule);
            EXPECT_TRUE(timeline) << name << " D" << devices << " M" << micros << ": "
                                  << timeline.error().text();
          }
        }
      }
    }
  }
}

TEST(Families, VShapesBeat1F1BOnEvenStages) {
  Pipeline pipeline = even_chain(8, 16);
  for (StageId s = 0; s < 8; ++s) pipeline.stages[s].device = std::min(s, 7 - s);
  // The same work on four devices without a V: each pair of neighbours is one stage.
  const Pipeline plain = make_chain({10, 10, 10, 10}, {12, 12, 12, 12}, {8, 8, 8, 8}, 0, 16);
  EXPECT_LT(makespan(pipeline, "zb-v"), makespan(plain, "zb-h1"));
  EXPECT_LT(makespan(pipeline, "dualpipe-v"), makespan(plain, "1f1b"));
}

TEST(Families, APlacementThatDoesNotFitIsAnErrorWithTheRightOne) {
  Pipeline pipeline = even_chain(4, 4);
  EXPECT_NE(family("zb-v", pipeline).error().message.find("V"), std::string::npos);
  EXPECT_FALSE(family("dualpipe-v", pipeline));
  pipeline.stages[3].device = 0;
  EXPECT_FALSE(family("1f1b", pipeline));
  EXPECT_FALSE(family("interleaved", pipeline));
  EXPECT_FALSE(family("zigzag", pipeline));
}

}  // namespace
}  // namespace weft::pipeline
