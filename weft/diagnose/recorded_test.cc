// SPDX-License-Identifier: Apache-2.0
// Tests properties of a diagnosis that must hold for every real recording of several ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "weft/diagnose/compare.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/predict/predict.h"
#include "weft/trace/match/multi_rank_sets.h"

namespace weft::diagnose {
namespace {

using trace::MultiRankSet;

std::vector<MultiRankSet> sets() {
  return trace::multi_rank_sets(WEFT_SOURCE_DIR "/../shared/traces");
}

predict::Job open(const MultiRankSet& set) {
  Diagnostics diagnostics;
  trace::LoadOptions options;
  options.run = set.run;
  auto job = predict::open_job(set.inputs, options, diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return job ? std::move(*job) : predict::Job{};
}

class Recorded : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (GetParam() >= sets().size()) GTEST_SKIP() << "no shared traces beside the source tree";
    set_ = sets()[GetParam()];
    job_ = open(set_);
    auto diagnosis = diagnose(job_);
    ASSERT_TRUE(diagnosis) << diagnosis.error().text();
    diagnosis_ = std::move(*diagnosis);
  }

  MultiRankSet set_;
  predict::Job job_;
  Diagnosis diagnosis_;
};

TEST_P(Recorded, CausesAddUpToTheStepOfEveryRank) {
  const predict::SelfReplay self = predict::self_replay(job_);
  for (const RankDiagnosis& rank : diagnosis_.ranks) {
    EXPECT_EQ(rank.step, rank.causes.mean.total());
    Nanos sum = 0;
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      EXPECT_EQ(rank.causes.steps[s].total(), rank.steps[s]);
      sum += rank.steps[s];
    }
    EXPECT_EQ(rank.step, sum / static_cast<Nanos>(rank.steps.size()));
    Nanos named = 0;
    for (const auto& [name, time] : rank.causes.mean.named()) {
      EXPECT_GT(time, 0) << name;
      named += time;
    }
    EXPECT_EQ(named, rank.step);
  }
  // The replayed step equals the recorded one.
  const auto recorded = static_cast<double>(mean_step(self.recorded));
  EXPECT_NEAR(static_cast<double>(diagnosis_.step) / recorded, 1, 1e-3);
}

TEST_P(Recorded, PiecesOfTheCriticalPathLieEndToEnd) {
  ASSERT_FALSE(diagnosis_.path.pieces.empty());
  Nanos at = diagnosis_.path.pieces.front().start;
  for (const PathPiece& piece : diagnosis_.path.pieces) {
    ASSERT_EQ(piece.start, at);
    at = piece.end;
  }
  EXPECT_EQ(diagnosis_.path.length, at - diagnosis_.path.pieces.front().start);
}

TEST_P(Recorded, TheCriticalPathGoesThroughTheCulprit) {
  const CriticalPath& path = diagnosis_.path;
  if (set_.name.starts_with("torchrec")) {
    EXPECT_EQ(path.main_rank(), 2);
    EXPECT_GT(path.by_rank.at(2), path.length / 2);
  } else if (set_.name == "straggler ST") {
    // According to the publication, the last of the four stages is the slow one.
    std::map<std::int32_t, Nanos> by_stage;
    for (const graph::Worker& worker : job_.workers) {
      const auto found = path.by_rank.find(worker.rank);
      if (found != path.by_rank.end()) by_stage[worker.stage] += found->second;
    }
    EXPECT_GT(by_stage[3], path.length / 2);
  } else if (set_.name == "straggler AR") {
    EXPECT_EQ(path.main_rank(), 0);
    EXPECT_GT(path.by_rank.at(0), path.length * 9 / 10);
  }
}

/// `weft diagnose` and `weft replay` must give the same answer to the same question.
TEST_P(Recorded, GainsAreAnswersOfThePredictor) {
  const auto predictor = predict::Predictor::make(job_, {});
  ASSERT_TRUE(predictor) << predictor.error().text();
  const Nanos baseline = predictor->baseline()->step;
  EXPECT_EQ(diagnosis_.baseline, baseline);
  for (const Finding& finding : diagnosis_.findings) {
    const bool asked = finding.kind == FindingKind::kExposedCommunication ||
                       finding.kind == FindingKind::kImbalance;
    if (!asked || finding.what_if.empty()) continue;
    const auto answer = predictor->ask({predict::parse_what_if(finding.what_if).value()});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(finding.gain, baseline - answer->step) << finding.what_if;
  }
}

TEST_P(Recorded, ARunDoesNotDifferFromItself) {
  const Comparison same = compare(job_, diagnosis_, job_, diagnosis_);
  EXPECT_EQ(same.change(), 0);
  EXPECT_TRUE(same.missing.empty());
  EXPECT_TRUE(same.added.empty());
  for (const OpChange& op : same.ops) EXPECT_EQ(op.change(), 0) << op.name;
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  const auto all = sets();
  std::string name = info.param < all.size() ? all[info.param].name : "absent";
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sets, Recorded,
                         testing::Range<std::size_t>(0, std::max<std::size_t>(1, sets().size())),
                         name_of);

}  // namespace
}  // namespace weft::diagnose
