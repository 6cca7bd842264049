// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::pipeline::recorded {
namespace {

namespace fs = std::filesystem;
const fs::path kTraces = fs::path(WEFT_SOURCE_DIR) / "../shared/traces";

Result<Profile> profile_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.string());
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, predict::open_job(names, {}, diagnostics));
  return recorded_profile(job, diagnostics);
}

Bytes parameters(const Profile& profile) {
  Bytes sum = 0;
  for (const Layer& layer : profile.layers) sum += layer.parameters;
  return sum;
}

TEST(RecordedProfile, LayersAreTheModulesThatTheModelCalls) {
  const fs::path file = kTraces / "sarchlab_triosim/profiler_vgg13-iter41.json.gz";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there";
  const auto profile = profile_of({file});
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  // 10 convolutions with 5 pools, an average pool, 3 linears, their activations, and the loss.
  ASSERT_EQ(profile->layers.size(), 34u);
  EXPECT_EQ(profile->layers[0].name, "Conv2d_0");
  EXPECT_EQ(profile->layers[33].name, "CrossEntropyLoss_0");
  EXPECT_EQ(parameters(*profile), 4 * 133'047'848);
  EXPECT_EQ(profile->layers[26].parameters, 4 * (25'088 + 1) * 4'096);
  EXPECT_EQ(profile->layers[0].activation, profile->layers[1].activation);
  for (const Layer& layer : profile->layers) EXPECT_GT(layer.forward, 0) << layer.id;
  // The first layer needs no gradient of its input. Pooling keeps its output and 8-byte indices.
  // Activation functions that work in place keep no additional memory.
  EXPECT_NEAR(static_cast<double>(profile->layers[0].weight),
              static_cast<double>(profile->layers[0].backward), 1000.0);
  EXPECT_EQ(profile->layers[4].stash, 3 * profile->layers[4].activation);
  EXPECT_EQ(profile->layers[1].stash, 0);
}

TEST(RecordedProfile, RecomputedForwardsAreNoLayers) {
  const fs::path file = kTraces / "AMD-AGI_TraceLens/mi300/resnet_act_checkpoint.json.gz";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there";
  const auto profile = profile_of({file});
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->layers.size(), 10u);
  EXPECT_EQ(parameters(*profile), 2 * 11'689'512);  // resnet18 in half precision
}

TEST(RecordedProfile, APipelineIsOneModel) {
  std::vector<fs::path> files;
  for (int r = 0; r < 2; ++r) {
    files.push_back(kTraces / ("h200-nccl/pp-gpt8l-w2-r" + std::to_string(r) + ".json.gz"));
  }
  if (!fs::exists(files.front())) GTEST_SKIP() << files.front() << " is not there";
  const auto profile = profile_of(files);
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  ASSERT_EQ(profile->layers.size(), 8u);
  constexpr Bytes kBlock = 50'384'896, kEmbedding = 16'384 * 1'024 * 4;
  EXPECT_EQ(profile->layers[0].parameters, kBlock + kEmbedding);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_EQ(profile->layers[i].parameters, kBlock);
  EXPECT_EQ(profile->layers[7].parameters, kBlock + kEmbedding + 4 * 16'384);
  // In the backward of a block, half of the matrix products of linear layers are gradients of
  // weights. The matrix products of attention are not.
  for (std::size_t i = 1; i < 7; ++i) {
    const Layer& layer = profile->layers[i];
    const double share = static_cast<double>(layer.weight) / static_cast<double>(layer.backward);
    EXPECT_GT(share, 0.4) << layer.id;
    EXPECT_LT(share, 0.55) << layer.id;
  }
}

/// Steps of a model with two layers on a host without devices. The second layer takes three times
/// as long as the first; a backward, on autograd's thread, takes twice as long as a forward.
std::string host_trace() {
  std::string events;
  const auto add = [&](const std::string& cat, const std::string& name, int thread, double start,
                       double duration, const std::string& args) {
    if (!events.empty()) events += ",";
    events += R"({"ph":"X","pid":1,"cat":")" + cat + R"(","name":")" + name + R"(","tid":)" +
              std::to_string(thread) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
              std::to_string(duration) + R"(,"args":{)" + args + "}}";
  };
  for (int step = 0; step < 4; ++step) {
    const double at = 10'000.0 * step;
    const auto sequence = [&](int layer, int of) {
      return R"("Sequence number":)" + std::to_string(2 * step + layer) + R"(,"Fwd thread id":)" +
             std::to_string(of);
    };
    add("user_annotation", "ProfilerStep#" + std::to_string(step), 1, at, 9'900, "");
    add("python_function", "nn.Module: Net_0", 1, at + 10, 450, "");
    add("python_function", "nn.Module: Linear_0", 1, at + 20, 110, "");
    add("cpu_op", "aten::mm", 1, at + 25, 100, sequence(0, 0));
    add("python_function", "nn.Module: Linear_1", 1, at + 140, 310, "");
    add("cpu_op", "aten::mm", 1, at + 145, 300, sequence(1, 0));
    add("cpu_op", "MmBackward0", 2, at + 1'000, 600, sequence(1, 1));
    add("cpu_op", "MmBackward0", 2, at + 1'700, 200, sequence(0, 1));
  }
  return R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" +
         events + "]}";
}

TEST(RecordedProfile, WithoutDevicesLayersAreTheWorkOfTheHost) {
  const fs::path file = fs::path(testing::TempDir()) / "host_layers.json";
  std::ofstream(file) << host_trace();
  const auto profile = profile_of({file});
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  ASSERT_EQ(profile->layers.size(), 2u);
  EXPECT_EQ(profile->layers[0].id, "0.Linear_0");
  EXPECT_EQ(profile->layers[0].forward, 100'000);
  EXPECT_EQ(profile->layers[0].backward, 200'000);
  EXPECT_EQ(profile->layers[1].forward, 300'000);
  EXPECT_EQ(profile->layers[1].backward, 600'000);
}

TEST(RecordedProfile, ReadsBackAsItWasWritten) {
  Profile profile;
  profile.name = "tiny";
  for (int i = 0; i < 3; ++i) {
    Layer& layer = profile.layers.emplace_back();
    layer.id = std::to_string(i) + ".block";
    layer.name = "block";
    layer.forward = 1'234'567 * (i + 1);
    layer.backward = 7'000'001;
    layer.weight = 3'141'592;
    layer.activation = 4'096;
    layer.parameters = 1LL << 40;
    layer.stash = 8'192;
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  const auto back = parse_profile(profile_json(profile), "file");
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->name, "tiny");
  ASSERT_EQ(back->layers.size(), 3u);
  ASSERT_EQ(back->edges.size(), 2u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back->layers[i].id, profile.layers[i].id);
    EXPECT_EQ(back->layers[i].forward, profile.layers[i].forward);
    EXPECT_EQ(back->layers[i].backward, profile.layers[i].backward);
    EXPECT_EQ(back->layers[i].weight, profile.layers[i].weight);
    EXPECT_EQ(back->layers[i].activation, profile.layers[i].activation);
    EXPECT_EQ(back->layers[i].parameters, profile.layers[i].parameters);
    EXPECT_EQ(back->layers[i].stash, profile.layers[i].stash);
  }
}

TEST(RecordedProfile, WithoutModulesAndPipelineThereAreNoLayers) {
  const auto profile = profile_of({fs::path(WEFT_SOURCE_DIR) / "examples/resnet50-w4"});
  ASSERT_FALSE(profile.has_value());
  EXPECT_EQ(profile.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::pipeline::recorded
