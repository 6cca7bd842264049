// SPDX-License-Identifier: Apache-2.0
// Looks for ranks, pipeline stages and steps that take longer than others for the same work. The
// removal of each such suspect gives its ops their ideal times (sim/stragglers.h). These are the
// usual times of the same op on other ranks or in other steps.
#include <algorithm>
#include <map>

#include "weft/base/median.h"
#include "weft/diagnose/suspects.h"
#include "weft/predict/predict.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::OpId;

/// A worker or stage is reported only if it explains at least this share of the time that
/// stragglers cost.
constexpr double kLeastShare = 0.1;
/// Several workers may be culprits together. To find them, all workers except one get ideal times.
/// The one worker is a culprit if the job still loses at least this share of the time that
/// stragglers cost.
constexpr double kAloneShare = 0.3;
/// Host work counts as interrupted if two things are true: it takes at least kStall longer than the
/// same work usually does, and at least kStallFactor times as long.
constexpr Nanos kStall = 3 * kMillisecond;
constexpr Nanos kStallFactor = 10;
/// Stalls of a rank that has fewer of them than this do not count. They may come from the program
/// itself (checkpoints, garbage collection).
constexpr std::size_t kLeastStalls = 5;
/// A step is slow if it takes at least this many times as long as the median step.
constexpr double kSlowStep = 1.15;

/// Sets the ops for which `chosen` is true, and the gaps before them, to their ideal times.
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

/// Returns the suspect that removes the delay of the given ranks. Their own ops get ideal times.
Suspect straggler(const Evidence& evidence, const sim::IdealTimes& ideal, StragglerFacts facts,
                  std::vector<std::int32_t> ranks) {
  std::vector<std::int32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<bool> own = sim::own_work(evidence.graph, sorted);
  return {FindingKind::kStraggler, towards(evidence.graph, ideal, [&](OpId op) { return own[op]; }),
          std::move(ranks), facts};
}

/// Returns ranks that delay the job together, the worst first. Two late ranks hide each other: if
/// one of them became fast, the job would still wait for the other. So neither has a gain. To find
/// such ranks, all ranks except one get ideal times. If the job is still late, this one rank is one
/// of them.
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

/// Looks for stalls. Host threads that lose the processor stop at random places, even in calls that
/// usually take no time. This happens on most ranks. So each op and delay of a host thread is
/// compared with its usual time. The stalls are a suspect only if more than half of the ranks have
/// many of them.
Suspect host_stalls(const Evidence& evidence, const sim::IdealTimes& ideal) {
  const Graph& graph = evidence.graph;
  const auto stalled = [](Nanos took, Nanos usual) {
    return took - usual >= kStall && took >= kStallFactor * usual;
  };
  Suspect suspect;
  suspect.kind = FindingKind::kHostStalls;
  std::map<std::int32_t, std::vector<Nanos>> by_rank;
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::Lane& lane = graph.lanes[graph.ops.lane[op]];
    if (lane.kind != graph::LaneKind::kHost || lane.rank < 0) continue;
    if (stalled(graph.ops.duration[op], ideal.duration[op])) {
      suspect.removal.durations.emplace_back(op, ideal.duration[op]);
      by_rank[lane.rank].push_back(graph.ops.duration[op] - ideal.duration[op]);
    }
    for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      if (graph.edges[e].kind == graph::EdgeKind::kHostSync) continue;
      if (!stalled(graph.edges[e].delay, ideal.delay[e])) continue;
      suspect.removal.delays.emplace_back(e, ideal.delay[e]);
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
  if (2 * affected <= evidence.steps.ranks.size()) suspect.removal = {};
  suspect.facts = HostStallFacts{stalls.size(), median(stalls)};
  return suspect;
}

/// Returns the workers and stages that explain the slowdown according to the straggler analysis.
std::vector<Suspect> stragglers(const Evidence& evidence, const sim::IdealTimes& ideal) {
  const sim::StragglerReport& report = *evidence.stragglers;
  std::vector<Suspect> suspects;
  for (const sim::Blame& blame : report.workers) {
    if (blame.share < kLeastShare) continue;
    suspects.push_back(straggler(evidence, ideal, {-1, blame.share}, {blame.rank}));
  }
  // If no single worker or stage explains the delay, a few ranks together may explain it. If more
  // than half of the ranks are late, there is no straggler but an imbalance of the whole job.
  const std::vector<std::int32_t> together = late_together(report);
  if (report.culprit == sim::CulpritKind::kNone && together.size() > 1 &&
      2 * together.size() <= report.workers.size()) {
    suspects.push_back(straggler(evidence, ideal, {}, together));
  }
  // One slow worker makes its whole stage slow, so a stage is reported only if the analysis found
  // that no single worker explains the delay.
  for (const sim::Blame& blame : report.stages) {
    if (report.culprit != sim::CulpritKind::kStage || blame.share < kLeastShare) continue;
    std::vector<std::int32_t> ranks;
    for (const graph::Worker& worker : evidence.job.workers) {
      if (worker.stage == blame.stage) ranks.push_back(worker.rank);
    }
    suspects.push_back(straggler(evidence, ideal, {blame.stage, blame.share}, std::move(ranks)));
  }
  return suspects;
}

/// Returns the length of each complete step on the rank for which this step is longest.
std::vector<Nanos> step_lengths(const predict::StepTimes& steps,
                                const std::vector<std::size_t>& complete) {
  std::vector<Nanos> lengths;
  for (const std::size_t s : complete) {
    Nanos longest = 0;
    for (const auto& periods : steps.period) longest = std::max(longest, periods[s]);
    lengths.push_back(longest);
  }
  return lengths;
}

}  // namespace

std::vector<Suspect> slow_ranks(const Evidence& evidence) {
  if (evidence.stragglers == nullptr) return {};
  const sim::IdealTimes ideal =
      sim::ideal_times(evidence.graph, predict::straggler_options(evidence.job));
  std::vector<Suspect> suspects = stragglers(evidence, ideal);
  suspects.push_back(host_stalls(evidence, ideal));
  suspects.push_back({FindingKind::kImbalance,
                      towards(evidence.graph, ideal, [](OpId) { return true; }),
                      {},
                      ImbalanceFacts{evidence.stragglers->slowdown}});
  return suspects;
}

std::vector<Suspect> slow_steps(const Evidence& evidence) {
  const std::vector<std::size_t> complete = complete_steps(evidence.steps);
  if (complete.size() < 3) return {};  // the median of two steps shows nothing
  const std::vector<Nanos> lengths = step_lengths(evidence.steps, complete);
  const Nanos usual = median(lengths);
  sim::StragglerOptions options;
  options.peers = sim::PeerRule::kOtherSteps;
  options.keep_delays = true;
  sim::IdealTimes ideal;  // computed only if there is a slow step
  std::vector<Suspect> suspects;
  for (std::size_t i = 0; i < complete.size(); ++i) {
    if (static_cast<double>(lengths[i]) < kSlowStep * static_cast<double>(usual)) continue;
    if (ideal.duration.empty()) ideal = sim::ideal_times(evidence.graph, options);
    const std::int64_t step = evidence.steps.steps[complete[i]];
    suspects.push_back({FindingKind::kSlowStep,
                        towards(evidence.graph, ideal,
                                [&](OpId op) { return evidence.graph.ops.step[op] == step; }),
                        {},
                        SlowStepFacts{step, lengths[i], usual}});
  }
  return suspects;
}

}  // namespace weft::diagnose
