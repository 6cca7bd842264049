// SPDX-License-Identifier: Apache-2.0
// Ranks, stages and steps that need longer than others for the same work.
#include <fmt/format.h>

#include <algorithm>

#include "weft/base/median.h"
#include "weft/diagnose/suspects.h"
#include "weft/predict/predict.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;

/// A worker is worth a look if it explains this share of what stragglers cost.
constexpr double kLeastShare = 0.1;
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

Finding straggler(const Evidence& evidence, const sim::IdealTimes& ideal, const sim::Blame& blame,
                  std::vector<std::int32_t> ranks) {
  const Graph& graph = evidence.graph;
  const auto within = [&](std::int32_t rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  Finding finding;
  finding.kind = "straggler";
  finding.removal = towards(graph, ideal, [&](OpId op) {
    const std::uint32_t c = graph.ops.collective[op];
    if (graph.rank(op) >= 0 || c == kNoId) return within(graph.rank(op));
    const auto& arrivals = graph.collectives[c].arrivals;
    return std::all_of(arrivals.begin(), arrivals.end(),
                       [&](OpId arrival) { return within(graph.rank(arrival)); });
  });
  const bool stage = blame.rank < 0;
  const std::string who =
      stage ? fmt::format("pipeline stage {}", blame.stage) : fmt::format("rank {}", blame.rank);
  finding.title = "the delay of " + who;
  finding.rank = stage ? ranks.front() : blame.rank;
  finding.what = fmt::format(
      "{} needs longer than its peers for the same work; it explains {:.0f} % of "
      "what stragglers cost",
      who, 100 * blame.share);
  finding.advice =
      stage
          ? "move layers from this stage to others, or give it faster devices"
          : "look for another process, a throttled or degraded device, uneven input or extra work "
            "on this rank; swap its host to see whether the delay moves along";
  finding.what_if = "stragglers=off";
  finding.ranks = std::move(ranks);
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
    findings.push_back(straggler(evidence, ideal, blame, {blame.rank}));
  }
  // One slow worker makes its stage slow too, so a stage counts only if no worker explains it.
  for (const sim::Blame& blame : report.stages) {
    if (report.culprit != sim::CulpritKind::kStage || blame.share < kLeastShare) continue;
    std::vector<std::int32_t> ranks;
    for (const graph::Worker& worker : evidence.job.workers) {
      if (worker.stage == blame.stage) ranks.push_back(worker.rank);
    }
    // A stage of one worker is that worker.
    if (ranks.size() > 1) findings.push_back(straggler(evidence, ideal, blame, std::move(ranks)));
  }
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
