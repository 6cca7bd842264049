// SPDX-License-Identifier: Apache-2.0
// Measures the speed of replay on a real job, a recorded Megatron step of 8 ranks.
// 1. Full replays: copies of the step are joined end to end until the graph has more than a million
//    ops. Bar: 10 million ops per second on one core.
// 2. Incremental replays: the single step is replayed again after the duration of one op changed.
//    Bar: 2,000 changes per second.
// Usage: recorded_replay_bench [TRACES]. Exit status 0: both bars are met; 1: a bar is missed;
// 3: the recording cannot be read; 4: there is no recording.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weft/graph/unroll.h"
#include "weft/predict/job.h"
#include "weft/sim/contention.h"
#include "weft/sim/replay.h"

namespace {

using namespace weft;

constexpr double kOpsPerSecond = 10e6;
constexpr double kChangesPerSecond = 2'000;
constexpr std::size_t kManyOps = 1'000'000;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const char* verdict(double figure, double bar) { return figure >= bar ? "pass" : "FAIL"; }

/// Ops per second: the median of 25 full replays. A few durations change before each of them, so
/// that no replay can reuse the result of the last one.
double sweep_rate(const graph::Graph& graph) {
  sim::Replay replay(graph);
  std::mt19937 random(3);
  std::vector<double> times;
  for (int i = 0; i < 25; ++i) {
    for (int k = 0; k < 50; ++k) {
      const auto op = static_cast<graph::OpId>(random() % graph.size());
      replay.set_duration(op, graph.ops.duration[op] + static_cast<Nanos>(random() % 10'000));
    }
    times.push_back(seconds_of([&] { replay.run(); }));
  }
  std::sort(times.begin(), times.end());
  return static_cast<double>(graph.size()) / times[times.size() / 2];
}

/// Ops per second of a complete replay in which kernels are slower while communication runs. The
/// replay is repeated until the slowdowns agree with the timeline; `rounds` is the number of
/// repetitions.
double contended_rate(const graph::Graph& graph, int& rounds) {
  std::vector<double> slowdown(graph.size(), 1.0);
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] == graph::OpKind::kKernel) slowdown[op] = 1.2;
  }
  sim::Contention contention(graph, slowdown);
  sim::Replay replay(graph);
  const double time =
      seconds_of([&] { rounds = contention.settle(replay, graph.ops.duration).rounds; });
  return static_cast<double>(graph.size()) / time;
}

/// Incremental replays per second. Every change gives one random op 50 to 150 per cent of its
/// recorded time. `visited` is the mean number of ops that a replay computes again.
double change_rate(const graph::Graph& graph, double& visited) {
  constexpr int kChanges = 5'000;
  sim::Replay replay(graph);
  replay.run();
  std::mt19937 random(5);
  std::size_t visits = 0;
  Nanos sum = 0;  // used below, so that the compiler cannot remove the replays
  const double time = seconds_of([&] {
    for (int i = 0; i < kChanges; ++i) {
      const auto op = static_cast<graph::OpId>(random() % graph.size());
      const auto per_cent = static_cast<Nanos>(50 + random() % 101);
      replay.set_duration(op, graph.ops.duration[op] * per_cent / 100);
      visits += replay.update();
      sum += replay.makespan();
    }
  });
  visited = static_cast<double>(visits) / kChanges + (sum < 0 ? 1 : 0);
  return kChanges / time;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string traces = argc > 1 ? argv[1] : WEFT_SOURCE_DIR "/../shared/traces";
  const std::string folder = traces + "/astra-sim_astra-sim/megatron-tp8";
  if (!std::filesystem::is_directory(folder)) {
    std::printf("recorded_replay_bench: there is no recording in %s; give the folder of traces\n",
                folder.c_str());
    return 4;
  }
  Diagnostics diagnostics;
  const auto job = predict::open_job({folder + "/megatron_kineto_*"}, {}, diagnostics);
  if (!job) {
    std::fprintf(stderr, "%s\n", job.error().text().c_str());
    return 3;
  }
  const std::size_t times = kManyOps / job->graph.size() + 2;
  const auto unrolled = graph::unroll(job->graph, std::vector(times, job->graph.steps.front()));
  if (!unrolled) {
    std::fprintf(stderr, "%s\n", unrolled.error().text().c_str());
    return 3;
  }
  const graph::Graph* long_job = &unrolled->graph;
  const double ops = sweep_rate(*long_job);
  std::printf("%zu copies of megatron-tp8: %zu ops, %.2f edges per op\n", times, long_job->size(),
              static_cast<double>(long_job->edges.size()) / static_cast<double>(long_job->size()));
  std::printf("  full replay: %.1f M ops/s (bar %.0f): %s\n", ops / 1e6, kOpsPerSecond / 1e6,
              verdict(ops, kOpsPerSecond));
  int rounds = 0;
  const double contended = contended_rate(*long_job, rounds);
  std::printf(
      "  with contention (compute 1.2 times slower beside communication): %.1f M ops/s, "
      "%d rounds\n",
      contended / 1e6, rounds);
  double visited = 0;
  const double changes = change_rate(job->graph, visited);
  std::printf("megatron-tp8 step: %zu ops, %zu ranks\n", job->graph.size(), job->run.ranks.size());
  std::printf("  one op changed: %.0f re-replays/s, %.0f ops visited each (bar %.0f): %s\n",
              changes, visited, kChangesPerSecond, verdict(changes, kChangesPerSecond));
  return ops >= kOpsPerSecond && changes >= kChangesPerSecond && long_job->size() > kManyOps ? 0
                                                                                             : 1;
}
