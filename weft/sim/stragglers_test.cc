// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/stragglers.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "weft/base/parallel.h"
#include "weft/graph/made_pipeline.h"
#include "weft/graph/text.h"
#include "weft/sim/replay.h"

namespace weft::sim {
namespace {

namespace made = graph::made;
using trace::RankTrace;

constexpr Nanos ms = kMillisecond;

graph::PhaseGraph build(const made::Pipeline& pipeline) {
  Diagnostics diagnostics;
  auto built = graph::build_phases(made::play(pipeline), diagnostics);
  EXPECT_TRUE(built) << (built ? "" : built.error().text());
  EXPECT_TRUE(diagnostics.empty());
  return built ? std::move(*built) : graph::PhaseGraph{};
}

StragglerReport analyse(const graph::PhaseGraph& job) {
  StragglerOptions options;
  options.workers = job.workers;
  auto report = analyse_stragglers(job.graph, options);
  EXPECT_TRUE(report);
  return report ? std::move(*report) : StragglerReport{};
}

graph::Graph parse(const std::string& text) {
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
  return graph ? std::move(*graph) : graph::Graph{};
}

TEST(Stragglers, UniformPipelineTakesMicroBatchesPlusStagesMinusOneRounds) {
  const auto job = build({.replicas = 1, .stages = 4, .micro_batches = 8, .message = 0});
  const StragglerReport report = analyse(job);
  // The step consists of: the gather, 8 + 4 - 1 times a forward and a backward, the scatter, the
  // clip, and the optimiser.
  EXPECT_EQ(report.simulated_step, (5 + 11 * 30 + 6 + 2 + 3) * ms);
  EXPECT_EQ(report.ideal_step, report.simulated_step);
  EXPECT_EQ(report.culprit, CulpritKind::kNone);
}

TEST(Stragglers, SelfReplayWithLaunchDelaysGivesTheRecordedTimes) {
  made::Pipeline pipeline{.replicas = 2, .stages = 3, .micro_batches = 5, .steps = 3, .launch = ms};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t step, std::int32_t batch,
                     Nanos usual) {
    return usual + (rank.rank * 7 + step * 5 + batch * 3) % 11 * ms;
  };
  const auto job = build(pipeline);
  Replay replay(job.graph);
  replay.run();
  for (graph::OpId op = 0; op < job.graph.size(); ++op) {
    // Op timelines record a collective from its last arrival on, so the recorded start of an
    // earlier arrival is too late.
    if (job.graph.ops.kind[op] == graph::OpKind::kArrive) continue;
    ASSERT_EQ(replay.start(op), job.graph.ops.recorded_start[op]) << job.graph.name(op);
  }
}

TEST(Stragglers, SlowWorkerIsNamed) {
  made::Pipeline pipeline{.replicas = 3, .stages = 3, .micro_batches = 8, .steps = 2};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) {
    return rank.replica == 1 && rank.stage == 2 ? 2 * usual : usual;
  };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_GT(report.slowdown, 1.3);
  EXPECT_EQ(report.culprit, CulpritKind::kWorker);
  EXPECT_EQ(report.culprit_rank, 7);
  EXPECT_EQ(report.culprit_replica, 1);
  EXPECT_EQ(report.culprit_stage, 2);
  EXPECT_GT(report.workers.front().share, 0.9);
  EXPECT_LT(report.workers[1].share, 0.1);
}

TEST(Stragglers, SlowStageIsNamedInsteadOfItsWorkers) {
  made::Pipeline pipeline{.replicas = 2, .stages = 4, .micro_batches = 8, .steps = 2};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) { return rank.stage == 3 ? usual * 3 / 2 : usual; };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_GT(report.slowdown, 1.15);
  EXPECT_EQ(report.culprit, CulpritKind::kStage);
  EXPECT_EQ(report.culprit_stage, 3);
  EXPECT_EQ(report.culprit_rank, -1);
  EXPECT_LT(report.workers.front().share, 0.1) << "the other worker of the stage is still slow";
}

TEST(Stragglers, StageWithOneWorkerIsNamedAsAStage) {
  made::Pipeline pipeline{.replicas = 1, .stages = 4, .micro_batches = 8};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) { return rank.stage == 1 ? 2 * usual : usual; };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_EQ(report.culprit, CulpritKind::kStage);
  EXPECT_EQ(report.culprit_stage, 1);
}

TEST(Stragglers, DelaysThatMoveBetweenWorkersHaveNoCulprit) {
  // Training on sequences of very different lengths looks like this: at any time, another worker
  // may get a long sequence.
  made::Pipeline pipeline{.replicas = 4, .stages = 2, .micro_batches = 4, .steps = 8};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t step, std::int32_t batch,
                     Nanos usual) {
    return (step + batch) % 4 == rank.replica ? 3 * usual : usual;
  };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_GT(report.slowdown, 1.1);
  EXPECT_EQ(report.culprit, CulpritKind::kNone);
}

TEST(Stragglers, SmallSlowdownHasNoCulprit) {
  made::Pipeline pipeline{.replicas = 2, .stages = 2, .micro_batches = 4};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) { return rank.rank == 0 ? usual * 51 / 50 : usual; };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_GT(report.slowdown, 1.005);
  EXPECT_EQ(report.culprit, CulpritKind::kNone);
}

TEST(Stragglers, WorkerWithABadPortIsFoundThroughItsLinks) {
  made::Pipeline pipeline{.replicas = 3, .stages = 5, .micro_batches = 8};
  pipeline.vary_message = [](std::int32_t from, std::int32_t to, Nanos usual) {
    return from == 7 || to == 7 ? 30 * usual : usual;  // replica 1, stage 2
  };
  const StragglerReport report = analyse(build(pipeline));
  EXPECT_GT(report.slowdown, 1.1);
  EXPECT_EQ(report.culprit, CulpritKind::kLinks);
  EXPECT_EQ(report.culprit_rank, 7);
}

TEST(Stragglers, IdealIsTheMeanOfWorkAndTheMedianOfTransfers) {
  made::Pipeline pipeline{.replicas = 1, .stages = 4, .micro_batches = 2};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) { return usual + rank.rank * 4 * ms; };
  pipeline.vary_message = [](std::int32_t from, std::int32_t to, Nanos usual) {
    return from + to == 1 ? 100 * usual : usual;
  };
  const auto job = build(pipeline);
  const IdealTimes ideal = ideal_times(job.graph, {});
  for (graph::OpId op = 0; op < job.graph.size(); ++op) {
    if (job.graph.name(op) == "forward-compute") {
      EXPECT_EQ(ideal.duration[op], 16 * ms);
    }
    if (job.graph.name(op) == "forward-message") {
      EXPECT_EQ(ideal.duration[op], 1 * ms);
    }
  }
}

// Two ranks of a data-parallel job. The first kernel of rank 1 is slow, and rank 1 pauses before
// its second kernel.
constexpr const char* kTwoRanks = R"(
lane "r0/thread 5" host 0
lane "r0/stream 7" stream 0
lane "r1/thread 9" host 1
lane "r1/stream 7" stream 1
lane link link -
step 1
a0: launch "r0/thread 5" 1us "go"
a1: launch "r1/thread 9" 1us "go"
k0: kernel "r0/stream 7" 100us "gemm" after a0:launch
k1: kernel "r1/stream 7" 300us "gemm" after a1:launch
m0: kernel "r0/stream 7" 50us "gemm" after k0
m1: kernel "r1/stream 7" 50us "gemm" after k1+40us
x0: arrive "r0/stream 7" 0us "allreduce" after m0
x1: arrive "r1/stream 7" 0us "allreduce" after m1
t: transfer link 10us "allreduce" after x0:collective, x1:collective
c: collective allreduce ranks=2 bytes=8 group=0 seq=0 transfer=t arrivals=x0,x1
)";

TEST(Stragglers, PeersByPositionAreTheSameOpOfOtherRanks) {
  const graph::Graph job = parse(kTwoRanks);
  StragglerOptions options;
  options.peers = PeerRule::kSamePosition;
  options.keep_delays = true;
  const graph::Graph ideal = without_stragglers(job, options);
  Replay replay(ideal);
  replay.run();
  // The times of: the launch, the first kernel, the pause, the second kernel, the transfer. The
  // first kernel takes the median of 100 and 300, and the pause the median of 0 and 40. The median
  // of two values is their mean.
  EXPECT_EQ(replay.makespan(), (1 + 200 + 20 + 50 + 10) * kMicrosecond);
  const auto report = analyse_stragglers(job, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->simulated_step, (1 + 300 + 40 + 50 + 10) * kMicrosecond);
  EXPECT_EQ(report->culprit, CulpritKind::kWorker);
  EXPECT_EQ(report->culprit_rank, 1);
  EXPECT_TRUE(report->stages.empty());
}

/// Two ranks run two kernels with the given times in us and then a collective. Rank 1 also pauses.
graph::Graph pair_of_ranks(std::array<int, 2> first, std::array<int, 2> second, int pause = 0) {
  std::string text = "lane net link -\nlane r0/s stream 0\nlane r1/s stream 1\nstep 1\n";
  for (std::size_t r = 0; r < 2; ++r) {
    const std::string rank = std::to_string(r);
    text += "a" + rank + ": kernel r" + rank + "/s " + std::to_string(first[r]) + "us \"gemm\"\n";
    text += "b" + rank + ": kernel r" + rank + "/s " + std::to_string(second[r]) +
            "us \"relu\" after a" + rank + "+" + std::to_string(r == 1 ? pause : 0) + "us\n";
    text += "x" + rank + ": arrive r" + rank + "/s 0 after b" + rank + "\n";
  }
  return parse(text +
               "t: transfer net 10us after x0:collective, x1:collective\n"
               "all: collective allreduce ranks=2 transfer=t arrivals=x0,x1\n");
}

StragglerOptions by_position() {
  StragglerOptions options;
  options.peers = PeerRule::kSamePosition;
  options.keep_delays = true;
  return options;
}

TEST(Stragglers, OneOfTwoRanksIsChargedItsWholeDelay) {
  const auto paused =
      analyse_stragglers(pair_of_ranks({100, 100}, {50, 50}, 30'000), by_position());
  ASSERT_TRUE(paused);
  EXPECT_EQ(paused->simulated_step - paused->ideal_step, 30'000 * kMicrosecond);
  EXPECT_EQ(paused->culprit_rank, 1);
  const auto interrupted = analyse_stragglers(pair_of_ranks({100, 9'000}, {50, 50}), by_position());
  ASSERT_TRUE(interrupted);
  EXPECT_EQ(interrupted->ideal_step, (100 + 50 + 10) * kMicrosecond);
}

TEST(Stragglers, MoreWorkOnOneOfTwoRanksIsDividedBetweenThem) {
  const auto report = analyse_stragglers(pair_of_ranks({1'000, 3'000}, {50, 50}), by_position());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->simulated_step, 3'060 * kMicrosecond);
  EXPECT_EQ(report->ideal_step, 2'060 * kMicrosecond);
}

TEST(Stragglers, ClearDelaysOfBothRanksAreCharged) {
  const auto report = analyse_stragglers(pair_of_ranks({5'000, 100}, {50, 9'000}), by_position());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ideal_step, (100 + 50 + 10) * kMicrosecond);
}

/// Three ranks run ten kernels each and then a collective. `more` is a line that only rank 1 has,
/// with an op labelled "more".
graph::Graph same_program(const std::string& more) {
  std::string text =
      "lane net link -\nlane r0/s stream 0\nlane r1/s stream 1\nlane r2/s stream 2\nstep 1\n";
  std::string arrivals;
  for (const std::string rank : {"0", "1", "2"}) {
    std::string last;
    for (int i = 0; i < 10; ++i) {
      const std::string label = "k" + rank + "_" + std::to_string(i);
      text += label + ": kernel r" + rank + "/s 10us \"gemm\"" +
              (last.empty() ? "" : " after " + last) + "\n";
      last = label;
    }
    if (rank == "1" && !more.empty()) {
      text += more;
      last = "more";
    }
    text += "x" + rank + ": arrive r" + rank + "/s 0 after " + last + "\n";
    arrivals += (arrivals.empty() ? "x" : ",x") + rank;
  }
  text += "t: transfer net 10us after x0:collective, x1:collective, x2:collective\n";
  text += "c: collective allreduce ranks=3 bytes=8 transfer=t arrivals=" + arrivals + "\n";
  return parse(text);
}

TEST(Stragglers, WorkThatMostRanksDoNotHaveIsExtra) {
  StragglerOptions options;
  options.peers = PeerRule::kSamePosition;
  options.keep_delays = true;
  const auto report =
      analyse_stragglers(same_program("more: kernel r1/s 500us \"logging\" after k1_9\n"), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->simulated_step, 610 * kMicrosecond);
  EXPECT_EQ(report->ideal_step, 110 * kMicrosecond);
  EXPECT_EQ(report->culprit_rank, 1);
}

TEST(Stragglers, WorkOfPipelineStagesIsNotExtra) {
  // Every stage has kernels of its own, so the ranks do not run the same program.
  StragglerOptions options;
  options.peers = PeerRule::kSamePosition;
  options.keep_delays = true;
  const auto report = analyse_stragglers(parse(R"(
lane r0/s stream 0
lane r1/s stream 1
lane r2/s stream 2
step 1
a: kernel r0/s 10us "first"
b: kernel r1/s 20us "middle" after a:data
c: kernel r2/s 30us "last" after b:data
)"),
                                         options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ideal_step, report->simulated_step);
}

TEST(Stragglers, StepTimesCountFromTheEndOfTheStepBefore) {
  const graph::Graph job = parse(R"(
lane r0 stream 0
step 3
a: kernel r0 10us "k"
step 4
b: kernel r0 20us "k" after a+5us
c: kernel r0 1us "k" after b
)");
  Replay replay(job);
  replay.run();
  EXPECT_EQ(step_times(job, replay.starts(), replay.ends()),
            (std::vector<Nanos>{10 * kMicrosecond, 26 * kMicrosecond}));
}

TEST(Stragglers, GraphWithoutStepsIsRefused) {
  const auto report = analyse_stragglers(parse("lane r0 stream 0\na: kernel r0 1us \"k\"\n"), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kUsage);
}

TEST(Stragglers, OnlyTheMostSuspectWorkersAreReplayed) {
  made::Pipeline pipeline{.replicas = 4, .stages = 2, .micro_batches = 4};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t,
                     Nanos usual) { return rank.rank == 5 ? 2 * usual : usual; };
  const auto job = build(pipeline);
  StragglerOptions options;
  options.workers = job.workers;
  options.most_workers = 2;
  const auto report = analyse_stragglers(job.graph, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->workers.size(), 2u);
  EXPECT_EQ(report->culprit_rank, 5);
}

TEST(Stragglers, ReportDoesNotDependOnThreads) {
  made::Pipeline pipeline{.replicas = 3, .stages = 3, .micro_batches = 4};
  pipeline.vary = [](std::string_view, const RankTrace& rank, std::int32_t, std::int32_t batch,
                     Nanos usual) { return usual + rank.rank * (batch + 1) * ms; };
  const auto job = build(pipeline);
  set_max_threads(1);
  const StragglerReport one = analyse(job);
  set_max_threads(0);
  const StragglerReport many = analyse(job);
  ASSERT_EQ(one.workers.size(), many.workers.size());
  for (std::size_t i = 0; i < one.workers.size(); ++i) {
    EXPECT_EQ(one.workers[i].rank, many.workers[i].rank);
    EXPECT_EQ(one.workers[i].step_without, many.workers[i].step_without);
    EXPECT_EQ(one.workers[i].step_alone, many.workers[i].step_alone);
  }
}

}  // namespace
}  // namespace weft::sim
