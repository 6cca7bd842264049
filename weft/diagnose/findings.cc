// SPDX-License-Identifier: Apache-2.0
// Makes the list of findings. The functions of suspects.h propose removals. A replay after each
// removal gives its gain. Then the place of the removal is found (rank, step, lane). Suspects with
// a small gain are dropped. Suspects that only repeat what a more specific finding says are
// dropped, too.
#include "weft/diagnose/findings.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/diagnose/finding_text.h"
#include "weft/diagnose/suspects.h"

namespace weft::diagnose {
namespace {

/// Returns the mean step after the removal. `replay` is a replay of the whole graph whose run() has
/// been called. Copying it is much cheaper than building a new graph. A new graph is necessary only
/// if edges are removed.
Nanos step_without(const sim::Replay& replay, const Removal& removal) {
  if (!removal.edges.empty()) {
    const graph::Graph changed = without(replay.graph(), removal);
    sim::Replay again(changed);
    again.run();
    return mean_step(predict::replayed_steps(again));
  }
  sim::Replay again = replay;
  for (const auto& [op, duration] : removal.durations) again.set_duration(op, duration);
  for (const auto& [edge, delay] : removal.delays) again.set_delay(edge, delay);
  again.run();
  return mean_step(predict::replayed_steps(again));
}

/// Makes a finding of the suspect and its texts. The gain and the place are filled in later.
Finding to_finding(Suspect suspect) {
  FindingText text = describe(suspect);
  Finding finding;
  finding.kind = suspect.kind;
  finding.title = std::move(text.title);
  finding.what = std::move(text.what);
  finding.advice = std::move(text.advice);
  finding.what_if = std::move(text.what_if);
  if (!suspect.ranks.empty()) finding.rank = suspect.ranks.front();
  finding.ranks = std::move(suspect.ranks);
  finding.removal = std::move(suspect.removal);
  return finding;
}

/// Findings about a straggler or about stalls of host threads name a cause. The finding "imbalance"
/// does not name a cause. Drops "imbalance" if a finding that names a cause has at least 90 % of
/// the gain of "imbalance".
void drop_explained(std::vector<Finding>& findings) {
  Nanos explained = 0;
  for (const Finding& f : findings) {
    const bool names_cause =
        f.kind == FindingKind::kStraggler || f.kind == FindingKind::kHostStalls;
    if (names_cause) explained = std::max(explained, f.gain);
  }
  std::erase_if(findings, [&](const Finding& f) {
    return f.kind == FindingKind::kImbalance && 10 * explained >= 9 * f.gain;
  });
}

}  // namespace

Nanos mean_step(const predict::StepTimes& steps) {
  const std::vector<std::size_t> complete = complete_steps(steps);
  if (complete.empty()) return 0;
  Nanos longest = 0;
  for (const std::vector<Nanos>& periods : steps.period) {
    Nanos sum = 0;
    for (const std::size_t s : complete) sum += periods[s];
    longest = std::max(longest, sum / static_cast<Nanos>(complete.size()));
  }
  return longest;
}

std::vector<Finding> find_findings(const predict::Job& job, const sim::StragglerReport* stragglers,
                                   const FindingOptions& options) {
  const graph::Graph graph = working_graph(job);
  sim::Replay replay(graph);
  replay.run();
  const predict::StepTimes steps = predict::replayed_steps(replay);
  const Evidence evidence{job, graph, replay, steps, stragglers};
  std::vector<Finding> findings;
  for (const auto& suspects :
       {slow_ranks, slow_steps, communication, host_work, device_work, profiler_cost}) {
    for (Suspect& suspect : suspects(evidence)) {
      if (!suspect.removal.empty()) findings.push_back(to_finding(std::move(suspect)));
    }
  }
  const Nanos step = mean_step(steps);
  parallel_for(findings.size(), [&](std::size_t i) {
    findings[i].gain = step - step_without(replay, findings[i].removal);
    locate(evidence, findings[i]);
    findings[i].what += about_pauses(findings[i]);
  });
  const auto least = static_cast<Nanos>(options.least_share * static_cast<double>(step));
  std::erase_if(findings, [&](const Finding& f) {
    // A straggler must lose at least half of the gain in its own ops. Otherwise the ideal times
    // only compensated for a delay on other ranks.
    const bool not_its_own = f.kind == FindingKind::kStraggler && 2 * f.time < f.gain;
    return f.gain <= 0 || f.gain < least || not_its_own;
  });
  drop_explained(findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.gain > b.gain; });
  return findings;
}

}  // namespace weft::diagnose
