// SPDX-License-Identifier: Apache-2.0
// Makes the list of findings. The functions of suspects.h propose removals. The predictor tells the
// gain of each. Then the place of the removal is found (rank, step, lane). Suspects with
// a small gain are dropped. Suspects that only repeat what a more specific finding says are
// dropped, too.
#include "weft/diagnose/findings.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"
#include "weft/diagnose/finding_text.h"
#include "weft/diagnose/suspects.h"
#include "weft/predict/unprofiled.h"

namespace weft::diagnose {
namespace {

/// Returns `now`, changed by the same factor as a removal changes `recorded` to `removed`. Both are
/// times of the same op: `recorded` in the recording, `now` in the job without profiler.
Nanos scaled(Nanos now, Nanos recorded, Nanos removed) {
  if (recorded <= 0) return removed;
  return std::llround(static_cast<double>(now) * static_cast<double>(removed) /
                      static_cast<double>(recorded));
}

/// Returns the removal as an edit of the graph from which predictions are made. That graph has the
/// same ops and edges as the recording, but other times.
graph::Edit edit_of(const Removal& removal, const graph::Graph& recorded,
                    const graph::Graph& clean) {
  graph::Edit edit;
  for (const auto& [op, duration] : removal.durations) {
    edit.durations.emplace_back(
        op, scaled(clean.ops.duration[op], recorded.ops.duration[op], duration));
  }
  for (const auto& [edge, delay] : removal.delays) {
    edit.delays.emplace_back(edge,
                             scaled(clean.edges[edge].delay, recorded.edges[edge].delay, delay));
  }
  edit.removed_edges = removal.removed_edges;
  return edit;
}

/// Predicts the step without a finding. If a what-if of `weft replay` asks the same question, its
/// answer counts, so both commands say the same.
Result<Nanos> step_without(const Finding& finding, const graph::Graph& recorded,
                           const predict::Predictor& predictor) {
  const bool same_question =
      finding.kind == FindingKind::kExposedCommunication || finding.kind == FindingKind::kImbalance;
  if (same_question) {
    const char* key = finding.kind == FindingKind::kImbalance ? "stragglers=off" : "comm=off";
    WEFT_ASSIGN(const predict::WhatIf what_if, predict::parse_what_if(key));
    auto answer = predictor.ask({what_if});
    // The what-if is refused if only pushes and pulls move data.
    if (answer) return answer->step;
  }
  return predictor.step_with(edit_of(finding.removal, recorded, predictor.clean()));
}

/// Returns by how much the predicted step becomes shorter without the finding. The job of the
/// predictor has no profiler, so the profiler's cost is measured: it is the difference between the
/// recorded steps and the unprofiled steps around them. It is 0 if these are unknown.
Nanos gain_of(const Finding& finding, const Evidence& evidence, const predict::Predictor& predictor,
              Nanos baseline) {
  if (finding.kind == FindingKind::kProfiler) {
    const auto unprofiled = predict::unprofiled_steps(evidence.job.run);
    return unprofiled ? mean_step(evidence.steps) - unprofiled->median : 0;
  }
  const auto without = step_without(finding, evidence.graph, predictor);
  return without ? baseline - *without : 0;
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

Result<std::vector<Finding>> find_findings(const predict::Job& job,
                                           const predict::Predictor& predictor,
                                           const sim::StragglerReport* stragglers,
                                           const FindingOptions& options) {
  WEFT_ASSIGN(const predict::StepPrediction baseline, predictor.baseline());
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
  parallel_for(findings.size(), [&](std::size_t i) {
    findings[i].gain = gain_of(findings[i], evidence, predictor, baseline.step);
    locate(evidence, findings[i]);
    findings[i].what += about_pauses(findings[i]);
  });
  const auto least = static_cast<Nanos>(options.least_share * static_cast<double>(baseline.step));
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
