// SPDX-License-Identifier: Apache-2.0
// Compares Weft's answers with the published answers of the straggler study, and prints both.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>

#include "weft/sim/replay.h"
#include "weft/sim/stragglers.h"
#include "weft/trace/formats/straggler/reader.h"

namespace weft::sim {
namespace {

const std::string kFolder =
    std::string(WEFT_SOURCE_DIR) + "/../shared/traces/ByteDance-Seed_StragglerAnalysis/";

graph::PhaseGraph load(const std::string& file) {
  Diagnostics diagnostics;
  auto source = open_file(kFolder + file);
  EXPECT_TRUE(source) << source.error().text();
  trace::Run run;
  auto ranks = trace::make_straggler_reader()->read(**source, {}, diagnostics);
  EXPECT_TRUE(ranks) << ranks.error().text();
  run.ranks = std::move(*ranks);
  auto job = graph::build_phases(run, diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.all().front().kind->id;
  return std::move(*job);
}

/// Returns the largest relative error of all replayed steps of all workers. The step of a worker
/// lasts from the start of this step in the job to the end of the worker's last op in this step.
double worst_self_replay(const graph::Graph& graph) {
  Replay replay(graph);
  replay.run();
  struct Step {
    Nanos recorded = 0, replayed = 0;
  };
  std::map<std::int32_t, Step> begin;
  std::map<std::pair<std::int32_t, std::int32_t>, Step> worker;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const std::int32_t step = graph.ops.step[op];
    const Nanos recorded = graph.ops.recorded_start[op];
    if (graph.name(op) == "step") begin[step] = {recorded, replay.start(op)};
    if (graph.rank(op) < 0 || graph.ops.kind[op] == graph::OpKind::kArrive) continue;
    Step& own = worker[{graph.rank(op), step}];
    own.recorded =
        std::max(own.recorded, recorded + graph.ops.recorded_duration[op] - begin[step].recorded);
    own.replayed = std::max(own.replayed, replay.end(op) - begin[step].replayed);
  }
  double worst = 0;
  for (const auto& [key, own] : worker) {
    worst = std::max(worst, std::abs(static_cast<double>(own.replayed - own.recorded)) /
                                static_cast<double>(own.recorded));
  }
  return worst;
}

double seconds(Nanos time) { return static_cast<double>(time) / 1e9; }

struct Published {
  const char* job;
  double simulated_s, ideal_s, slowdown;
  double stage_share;   ///< share of the slow-down that the last stage explains
  double worker_share;  ///< share of the slow-down that the worst worker explains
  CulpritKind culprit;
  std::int32_t replica, stage;
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.job; }

class StragglerStudy : public testing::TestWithParam<Published> {};

TEST_P(StragglerStudy, SlowdownIsWithinOnePerCentAndTheCulpritRight) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not here";
  const Published& p = GetParam();
  const graph::PhaseGraph job = load(std::string("timeline-") + p.job + ".json.gz");
  StragglerOptions options;
  options.workers = job.workers;
  const auto report = analyse_stragglers(job.graph, options);
  ASSERT_TRUE(report);
  double last_stage = 0;
  for (const Blame& stage : report->stages) {
    if (stage.stage == 3) last_stage = stage.share;
  }
  const double self = worst_self_replay(job.graph);
  std::printf("%s            published      weft\n", p.job);
  std::printf("  simulated s  %9.4f %9.4f\n", p.simulated_s, seconds(report->simulated_step));
  std::printf("  ideal s      %9.4f %9.4f\n", p.ideal_s, seconds(report->ideal_step));
  std::printf("  slowdown     %9.4f %9.4f\n", p.slowdown, report->slowdown);
  std::printf("  last stage   %9.4f %9.4f\n", p.stage_share, last_stage);
  std::printf("  worst worker %9.4f %9.4f\n", p.worker_share, report->workers.front().share);
  std::printf("  self-replay, worst worker and step: %.4f %%\n", self * 100);

  EXPECT_NEAR(report->slowdown, p.slowdown, 0.01 * p.slowdown);
  EXPECT_NEAR(seconds(report->simulated_step), p.simulated_s, 0.01 * p.simulated_s);
  EXPECT_NEAR(seconds(report->ideal_step), p.ideal_s, 0.01 * p.ideal_s);
  EXPECT_NEAR(last_stage, p.stage_share, 0.02);
  EXPECT_NEAR(report->workers.front().share, p.worker_share, 0.02);
  EXPECT_EQ(report->culprit, p.culprit);
  EXPECT_EQ(report->culprit_replica, p.replica);
  EXPECT_EQ(report->culprit_stage, p.stage);
  EXPECT_LE(self, 0.01);
}

TEST_P(StragglerStudy, PublishedIdealHasNoStraggler) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not here";
  const Published& p = GetParam();
  const graph::PhaseGraph job = load(std::string("ideal-timeline-") + p.job + ".json.gz");
  StragglerOptions options;
  options.workers = job.workers;
  const auto report = analyse_stragglers(job.graph, options);
  ASSERT_TRUE(report);
  EXPECT_NEAR(seconds(report->simulated_step), p.ideal_s, 0.001 * p.ideal_s);
  EXPECT_NEAR(report->slowdown, 1, 1e-6);
  EXPECT_EQ(report->culprit, CulpritKind::kNone);
}

INSTANTIATE_TEST_SUITE_P(Jobs, StragglerStudy,
                         testing::Values(Published{"ST", 2.1727, 1.8433, 1.1787, 1.2194, 0.0314,
                                                   CulpritKind::kStage, -1, 3},
                                         Published{"AR", 46.3364, 23.4847, 1.9730, -0.0012, 1.0017,
                                                   CulpritKind::kWorker, 0, 0}),
                         [](const auto& entry) { return std::string(entry.param.job); });

}  // namespace
}  // namespace weft::sim
