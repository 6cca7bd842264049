// SPDX-License-Identifier: Apache-2.0
// Reads profiles that other projects published. Skipped unless the shared files lie beside this
// checkout.
#include <gtest/gtest.h>

#include <filesystem>

#include "weft/pipeline/model/layer_chain.h"

namespace weft::pipeline {
namespace {

namespace fs = std::filesystem;
const fs::path kShared = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines";

struct Known {
  const char* file;
  std::size_t layers;
  double forward_ms, backward_ms;
};

TEST(SharedProfiles, HaveTheLayersAndTimesOfTheirFiles) {
  if (!fs::exists(kShared)) GTEST_SKIP() << "the shared profiles are not beside this checkout";
  const Known all[] = {
      {"msr-fiddle_dnn-partitioning/throughput-inputs/LayerGraphs/bert24_training.json", 32, 92.406,
       125.407},
      {"msr-fiddle_dnn-partitioning/throughput-inputs/LayerGraphs/resnet50_training.json", 177,
       201.45, 260.931},
      {"msr-fiddle_dnn-partitioning/throughput-inputs/LayerGraphs/inceptionv3_inference.json", 326,
       310.969, 0},
      {"msr-fiddle_dnn-partitioning/throughput-inputs/OperatorGraphs/bert_l-3_training.json", 142,
       -1, -1},
      {"msr-fiddle_piper/bert32a100.json", 37, 972.864 / 3, 2 * 972.864 / 3},
      {"Shigangli_Chimera/prof/bert-large_time_memory_v100.csv#1x24", 24, 24 * 1.305604,
       24 * 1.235628}};
  for (const Known& known : all) {
    const auto profile = read_profile((kShared / known.file).string());
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(profile->layers.size(), known.layers) << known.file;
    const LayerChain chain = layer_chain(*profile);
    if (known.forward_ms < 0) continue;
    EXPECT_NEAR(static_cast<double>(chain.forward.back()) * 1e-6, known.forward_ms, 1e-3);
    EXPECT_NEAR(static_cast<double>(chain.backward.back()) * 1e-6, known.backward_ms, 1e-3);
  }
}

}  // namespace
}  // namespace weft::pipeline
