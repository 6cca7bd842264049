// SPDX-License-Identifier: Apache-2.0
// Looks for ranks, pipeline stages and steps that take longer than others for the same work. All of
// these suspects are removals towards ideal times (sim/stragglers.h), which are the usual times of
// the same op on other ranks or in other steps.
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

/// A worker or stage is reported only if it explains at least this share of what stragglers cost.
constexpr double kLeastShare = 0.1;
/// A worker is one of several culprits if, with all others ideal, it still costs at least this
/// share of what stragglers cost.
constexpr double kAloneShare = 0.3;
/// Host work was interrupted if it takes at least kStall longer and kStallFactor times as long as
/// the same work usually does.
constexpr Nanos kStall = 3 * kMillisecond;
constexpr Nanos kStallFactor = 10;
/// A rank with fewer stalls than this does not count: they may come from the program itself
/// (checkpoints, garbage collection).
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

/// The finding that removes the delay of the given ranks: their own ops get ideal times.
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
      "this rank; move it to another host to see whether the delay moves with it";
  finding.what_if = "stragglers=off";
  finding.ranks = std::move(ranks);
  return finding;
}

std::string explains(double share) {
  // The share may exceed 1: the ideal may be longer than recorded for other ranks, so that bringing
  // only this one to its ideal saves more than bringing all of them there.
  if (share > 0.995) return "it explains all of what stragglers cost";
  return fmt::format("it explains {:.0f} % of what stragglers cost", 100 * share);
}

/// Ranks that delay the job together, the worst first. Two late ranks hide each other: without one
/// of them the job still waits for the other, so neither has a gain of its own. They are found by
/// the opposite question: with all other ranks ideal, each of them alone still delays the job.
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

/// Host threads that lose the processor stop at random places, even in calls that usually take no
/// time, and they do so on most ranks. So each op and delay of a host thread is compared with its
/// usual time, and the finding is only made if more than half of the ranks have many such stalls.
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
      "host threads stop {} times for {:.1f} ms (median) at places where other ranks do not stop; "
      "they seem to lose the processor",
      stalls.size(), static_cast<double>(median(stalls)) / 1e6);
  finding.advice =
      "give every rank its own cores (taskset, --cpu-bind), check the processor limit of the "
      "container (cpu.max, nr_throttled), look for other processes, and lower the number of "
      "threads "
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
    finding.what = fmt::format("{} takes longer than its peers for the same work; {}", who,
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
                   " take longer than their peers for the same work, and each of them alone "
                   "would delay the job";
  }
  // One slow worker makes its whole stage slow, so a stage is reported only if the analysis found
  // that no single worker explains the delay.
  for (const sim::Blame& blame : report.stages) {
    if (report.culprit != sim::CulpritKind::kStage || blame.share < kLeastShare) continue;
    std::vector<std::int32_t> ranks;
    for (const graph::Worker& worker : evidence.job.workers) {
      if (worker.stage == blame.stage) ranks.push_back(worker.rank);
    }
    const std::string who = fmt::format("pipeline stage {}", blame.stage);
    Finding& finding = findings.emplace_back(straggler(evidence, ideal, who, std::move(ranks)));
    finding.what = fmt::format("{} takes longer than the other stages for the same work; {}", who,
                               explains(blame.share));
    finding.advice = "move layers from this stage to others, or give it faster devices";
  }
  findings.push_back(host_stalls(evidence, ideal));
  Finding all;
  all.kind = "imbalance";
  all.title = "differences between ranks";
  all.removal = towards(evidence.graph, ideal, [](OpId) { return true; });
  all.what = fmt::format(
      "ranks take different times for the same work; together this slows the job down {:.2f}x",
      report.slowdown);
  all.advice =
      "balance input and work between ranks; the findings of kind straggler, if any, name the "
      "ranks "
      "that differ most";
  all.what_if = "stragglers=off";
  findings.push_back(std::move(all));
  return findings;
}

std::vector<Finding> slow_steps(const Evidence& evidence) {
  const std::vector<std::size_t> complete = complete_steps(evidence.steps);
  if (complete.size() < 3) return {};  // the median of two steps says nothing
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
        fmt::format("step {} takes {:.1f} ms, but the median step takes {:.1f} ms", step,
                    static_cast<double>(lengths[i]) / 1e6, static_cast<double>(middle) / 1e6);
    finding.advice =
        "if it is the first recorded step, skip more warm-up steps before recording; otherwise "
        "look "
        "for evaluation, checkpoints, logging or garbage collection in this step";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace weft::diagnose
