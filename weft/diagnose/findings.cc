// SPDX-License-Identifier: Apache-2.0
// The functions of suspects.h propose removals. Each removal is then replayed, which gives its
// gain, and located (rank, step, lane). Suspects with a gain that is too small are dropped, and so
// are those that only repeat what a more specific finding says.
#include "weft/diagnose/findings.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/diagnose/suspects.h"

namespace weft::diagnose {
namespace {

/// The mean step after the removal. `replay` is of the whole graph and has run. Copying it is much
/// cheaper than building a new graph, which is only necessary if edges are removed.
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

/// Drops the finding "imbalance" if a straggler or stalls of host threads, which name the cause,
/// give at least 90 % of its gain.
void drop_explained(std::vector<Finding>& findings) {
  Nanos explained = 0;
  for (const Finding& f : findings) {
    if (f.kind == "straggler" || f.kind == "host_stalls") explained = std::max(explained, f.gain);
  }
  std::erase_if(findings, [&](const Finding& f) {
    return f.kind == "imbalance" && 10 * explained >= 9 * f.gain;
  });
}

}  // namespace

const std::vector<FindingKind>& finding_kinds() {
  static const std::vector<FindingKind> kinds{
      {"straggler", "a rank or stage takes longer than its peers for the same work"},
      {"imbalance", "ranks take different times for the same work, and no single rank explains it"},
      {"host_stalls", "host threads stop at random places because they lose the processor"},
      {"slow_step", "a step takes longer than the others for the same work"},
      {"exposed_communication", "data moves while the device has nothing else to do"},
      {"collective", "exposed communication of one kind of collective in one group"},
      {"host_bound", "the device waits for the host to launch work"},
      {"data_loading", "the host waits for the next batch"},
      {"host_sync", "the host waits for the device before it continues"},
      {"memory_copies", "copies between host and device or within the device"},
      {"small_kernels", "kernels shorter than 10 us"},
      {"device_gaps", "pauses between kernels that were launched in time"},
      {"profiler", "the cost of recording, which a job without profiler does not have"},
  };
  return kinds;
}

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
    for (Finding& finding : suspects(evidence)) {
      if (!finding.removal.empty()) findings.push_back(std::move(finding));
    }
  }
  const Nanos step = mean_step(steps);
  parallel_for(findings.size(), [&](std::size_t i) {
    findings[i].gain = step - step_without(replay, findings[i].removal);
    locate(evidence, findings[i]);
  });
  const auto least = static_cast<Nanos>(options.least_share * static_cast<double>(step));
  std::erase_if(findings, [&](const Finding& f) {
    // A straggler must lose at least half of the gain in its own ops. Otherwise the ideal times
    // only made up for a delay that came from elsewhere.
    const bool not_its_own = f.kind == "straggler" && 2 * f.time < f.gain;
    return f.gain <= 0 || f.gain < least || not_its_own;
  });
  drop_explained(findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.gain > b.gain; });
  return findings;
}

}  // namespace weft::diagnose
