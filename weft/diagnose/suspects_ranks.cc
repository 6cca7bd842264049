// SPDX-License-Identifier: Apache-2.0
// Ranks, stages and steps that need longer than others for the same work.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/base/median.h"
#include "weft/diagnose/suspects.h"
#include "weft/predict/predict.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::OpId;

/// A worker is worth a look if it explains this share of what stragglers cost.
constexpr double kLeastShare = 0.1;
/// A worker that alone, with all others ideal, costs this share is one of the culprits.
constexpr double kAloneShare = 0.3;
/// Host work that takes this long, and this many times what is usual at its place, was interrupted.
constexpr Nanos kStall = 3 * kMillisecond;
constexpr Nanos kStallFactor = 10;
/// Fewer than this on a rank may be its own doing: a checkpoint, a collection of garbage.
constexpr std::size_t kLeastStalls = 5;
/// A step this much longer than the middle one is slow.
constexpr double kSlowStep = 1.15;

/// Gives the ops that `chosen` names, and the gaps before them, their ideal times.
template <class Chosen>
Removal towards(const Graph& graph, const sim::IdealTimes& ideal, Chosen chosen) {
  Removal removal;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (!chosen(op)) continue;
    if (ideal.duration[op] != graph.ops.duration[op]) {
      removal.durations.emplace_back(op, ideal.duration[op]);
    }
    for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      if (ideal.delay[e] != graph.edges[e].delay) removal.delays.emplace_back(e, ideal.delay[e]);
    }
  }
  return removal;
}

/// The job with the given ranks brought to what is usual among their peers.
Finding straggler(const Evidence& evidence, const sim::IdealTimes& ideal, const std::string& who,
                  std::vector<std::int32_t> ranks) {
  std::vector<std::int32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<bool> own = sim::own_work(evidence.graph, sorted);
  Finding finding;
  finding.kind = "straggler";
  finding.title = "the delay of " + who;
  finding.removal = towards(evidence.graph, ideal, [&](OpId op) { return own[op]; });
  finding.rank = ranks.front();
  finding.advice =
      "look for another process, a throttled or degraded device, uneven input or extra work on "
      "this rank; swap its host to see whether the delay moves along";
  finding.what_if = "stragglers=off";
  finding.ranks = std::move(ranks);
  return finding;
}

std::string explains(double share) {
  // Alone it may win more than with all others mended, as what is usual may be longer for those.
  if (share > 0.995) return "it explains all of what stragglers cost";
  return fmt::format("it explains {:.0f} % of what stragglers cost", 100 * share);
}

/// Two late ranks hide each other: without one of them the job still waits for the other. Each of
/// them, with all others ideal, would hold the job up; together they explain it.
std::vector<std::int32_t> late_together(const sim::StragglerReport& report) {
  const auto lost = static_cast<double>(report.simulated_step - report.ideal_step);
  std::vector<std::pair<Nanos, std::int32_t>> late;
  for (const sim::Blame& blame : report.workers) {
    const auto alone = static_cast<double>(blame.step_alone - report.ideal_step);
    if (alone >= kAloneShare * lost) late.emplace_back(-blame.step_alone, blame.rank);
  }
  std::sort(late.begin(), late.end());
  std::vector<std::int32_t> ranks;
  for (const auto& [step, rank] : late) ranks.push_back(rank);
  return ranks;
}

/// Host threads that lose the processor stop anywhere: in the middle of calls that take no time
/// elsewhere, on most ranks, each time at another place.
Finding host_stalls(const Evidence& evidence, const sim::IdealTimes& ideal) {
  const Graph& graph = evidence.graph;
  const auto stalled = [](Nanos took, Nanos usual) {
    return took - usual >= kStall && took >= kStallFactor * usual;
  };
  Finding finding;
  finding.kind = "host_stalls";
  std::map<std::int32_t, std::vector<Nanos>> by_rank;
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::Lane& lane = graph.lanes[graph.ops.lane[op]];
    if (lane.kind != graph::LaneKind::kHost || lane.rank < 0) continue;
    if (stalled(graph.ops.duration[op], ideal.duration[op])) {
      finding.removal.durations.emplace_back(op, ideal.duration[op]);
      by_rank[lane.rank].push_back(graph.ops.duration[op] - ideal.duration[op]);
    }
    for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      if (graph.edges[e].kind == graph::EdgeKind::kHostSync) continue;
      if (!stalled(graph.edges[e].delay, ideal.delay[e])) continue;
      finding.removal.delays.emplace_back(e, ideal.delay[e]);
      by_rank[lane.rank].push_back(graph.edges[e].delay - ideal.delay[e]);
    }
  }
  std::size_t affected = 0;
  std::vector<Nanos> stalls;
  for (const auto& [rank, times] : by_rank) {
    if (times.size() < kLeastStalls) continue;
    ++affected;
    stalls.insert(stalls.end(), times.begin(), times.end());
  }
  if (2 * affected <= evidence.steps.ranks.size()) return {};
  finding.title = "stalls of host threads";
  finding.what = fmt::format(
      "host threads stop {} times for {:.1f} ms (median) at places where other ranks do not: they "
      "seem to lose the processor",
      stalls.size(), static_cast<double>(median(stalls)) / 1e6);
  finding.advice =
      "give every rank cores of its own (taskset, --cpu-bind), look at the processor limit of the "
      "container (cpu.max, nr_throttled) and for other processes, and lower the number of threads "
      "(OMP_NUM_THREADS, loader workers)";
  return finding;
}

}  // namespace

std::vector<Finding> slow_ranks(const Evidence& evidence) {
  if (evidence.stragglers == nullptr) return {};
  const sim::StragglerReport& report = *evidence.stragglers;
  const sim::IdealTimes ideal =
      sim::ideal_times(evidence.graph, predict::straggler_options(evidence.job));
  std::vector<Finding> findings;
  for (const sim::Blame& blame : report.workers) {
    if (blame.share < kLeastShare) continue;
    const std::string who = fmt::format("rank {}", blame.rank);
    Finding& finding = findings.emplace_back(straggler(evidence, ideal, who, {blame.rank}));
    finding.what = fmt::format("{} needs longer than its peers for the same work; {}", who,
                               explains(blame.share));
  }
  const std::vector<std::int32_t> together = late_together(report);
  if (report.culprit == sim::CulpritKind::kNone && together.size() > 1 &&
      2 * together.size() <= report.workers.size()) {
    std::string who = "ranks ";
    for (const std::int32_t rank : together) {
      who += (rank == together.front() ? "" : ", ") + std::to_string(rank);
    }
    Finding& finding = findings.emplace_back(straggler(evidence, ideal, who, together));
    finding.what = who +
                   " need longer than their peers for the same work, and each of them alone "
                   "would hold the job up";
  }
  // One slow worker makes its stage slow too, so a stage counts only if no worker explains it.
  for (const sim::Blame& blame : report.stages) {
    if (report.culprit != sim::CulpritKind::kStage || blame.share < kLeastShare) continue;
    std::vector<std::int32_t> ranks;
    for (const graph::Worker& worker : evidence.job.workers) {
      if (worker.stage == blame.stage) ranks.push_back(worker.rank);
    }
    const std::string who = fmt::format("pipeline stage {}", blame.stage);
    Finding& finding = findings.emplace_back(straggler(evidence, ideal, who, std::move(ranks)));
    finding.what = fmt::format("{} needs longer than the other stages for the same work; {}", who,
                               explains(blame.share));
    finding.advice = "move layers from this stage to others, or give it faster devices";
  }
  findings.push_back(host_stalls(evidence, ideal));
  Finding all;
  all.kind = "imbalance";
  all.title = "differences between ranks";
  all.removal = towards(evidence.graph, ideal, [](OpId) { return true; });
  all.what = fmt::format("ranks differ at the same work; together that slows the job down {:.2f}x",
                         report.slowdown);
  all.advice = "balance input and work between ranks; see the stragglers for who differs most";
  all.what_if = "stragglers=off";
  findings.push_back(std::move(all));
  return findings;
}

std::vector<Finding> slow_steps(const Evidence& evidence) {
  const std::vector<std::size_t> complete = complete_steps(evidence.steps);
  if (complete.size() < 3) return {};
  std::vector<Nanos> lengths;
  for (const std::size_t s : complete) {
    Nanos longest = 0;
    for (const auto& periods : evidence.steps.period) longest = std::max(longest, periods[s]);
    lengths.push_back(longest);
  }
  std::vector<Nanos> sorted = lengths;
  const Nanos middle = median(sorted);
  sim::StragglerOptions options;
  options.peers = sim::PeerRule::kOtherSteps;
  options.keep_delays = true;
  sim::IdealTimes ideal;
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < complete.size(); ++i) {
    if (static_cast<double>(lengths[i]) < kSlowStep * static_cast<double>(middle)) continue;
    if (ideal.duration.empty()) ideal = sim::ideal_times(evidence.graph, options);
    const std::int64_t step = evidence.steps.steps[complete[i]];
    Finding finding;
    finding.kind = "slow_step";
    finding.title = fmt::format("the delay of step {}", step);
    finding.removal = towards(evidence.graph, ideal,
                              [&](OpId op) { return evidence.graph.ops.step[op] == step; });
    finding.what =
        fmt::format("step {} takes {:.1f} ms, the others mostly {:.1f} ms", step,
                    static_cast<double>(lengths[i]) / 1e6, static_cast<double>(middle) / 1e6);
    finding.advice =
        "if it is the first step recorded, skip warm-up steps; else look for evaluation, "
        "checkpoints, logging or garbage collection in that step";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace weft::diagnose
