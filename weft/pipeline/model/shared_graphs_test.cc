// SPDX-License-Identifier: Apache-2.0
// Compares the reimplemented optimizer with the answers of PipeDream's own optimizer on PipeDream's
// graphs. Skipped unless the shared files lie beside this checkout.
#include <gtest/gtest.h>

#include <filesystem>

#include "weft/pipeline/rivals/pipedream.h"

namespace weft::pipeline {
namespace {

namespace fs = std::filesystem;
const fs::path kGraphs =
    fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "pipelines" / "msr-fiddle_pipedream";

struct Anchor {
  const char* graph;
  double seconds[4];  ///< PipeDream's answer for each set of machines; 0: it did not finish
};

constexpr Anchor kAnchors[] = {
    {"image_classification/vgg16", {0.205521, 0.103833, 0.054795, 0.067242}},
    {"image_classification/alexnet", {0.034217, 0.018874, 0.015099, 0.015099}},
    {"image_classification/resnet18", {0.100004, 0.050783, 0.024425, 0.023493}},
    {"image_classification/resnet50", {0.162881, 0.092012, 0.043848, 0.043221}},
    {"image_classification/resnext50", {0.201407, 0.102760, 0.052789, 0.052200}},
    {"image_classification/densenet121", {0.089976, 0.047118, 0.023549, 0}},
    {"translation/gnmt", {0.025868, 0.019285, 0.017125, 0.012024}}};

TEST(SharedGraphs, AnswersEqualThoseOfPipedream) {
  if (!fs::exists(kGraphs)) GTEST_SKIP() << "the shared graphs are not beside this checkout";
  const std::vector<PipedreamLevel> machines[4] = {{{4, 1'000'000'000}},
                                                   {{8, 1'000'000'000}},
                                                   {{16, 1'250'000'000}},
                                                   {{4, 8'000'000'000}, {4, 1'250'000'000}}};
  for (const Anchor& anchor : kAnchors) {
    const auto profile = read_profile((kGraphs / anchor.graph / "graph.txt").string());
    ASSERT_TRUE(profile) << profile.error().text();
    for (int i = 0; i < 4; ++i) {
      const auto answer = solve_pipedream(*profile, machines[i]);
      ASSERT_TRUE(answer) << answer.error().text();
      if (anchor.seconds[i] == 0) continue;
      EXPECT_NEAR(static_cast<double>(answer->bottleneck) * 1e-9, anchor.seconds[i], 1e-6)
          << anchor.graph << ", machines " << i;
    }
  }
}

}  // namespace
}  // namespace weft::pipeline
