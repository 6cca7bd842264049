// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/causes.h"

#include <algorithm>

#include "weft/diagnose/loading.h"

namespace weft::diagnose {

std::vector<std::size_t> complete_steps(const predict::StepTimes& steps) {
  std::vector<std::size_t> complete;
  for (std::size_t s = 0; s < steps.steps.size(); ++s) {
    const bool everywhere =
        std::all_of(steps.period.begin(), steps.period.end(),
                    [&](const std::vector<Nanos>& periods) { return periods[s] >= 0; });
    if (everywhere) complete.push_back(s);
  }
  return complete;
}

std::vector<RankCauses> find_causes(const predict::Job& job, const Times& times,
                                    const predict::StepTimes& steps) {
  // There is one window per rank and step, sorted by rank. The results have the same order, so the
  // results of rank r are a contiguous part of them.
  const std::vector<std::size_t> complete = complete_steps(steps);
  std::vector<sim::Window> windows;
  for (std::size_t r = 0; r < steps.ranks.size(); ++r) {
    for (const std::size_t s : complete) {
      const Nanos end = steps.end[r][s];
      windows.push_back({steps.ranks[r], end - steps.period[r][s], end});
    }
  }
  const std::vector<CauseTimes> split =
      sim::split_by_cause(job.graph, times.starts, times.ends, windows, loading_windows(job));
  std::vector<RankCauses> result;
  for (std::size_t r = 0; r < steps.ranks.size(); ++r) {
    const auto first = split.begin() + static_cast<std::ptrdiff_t>(r * complete.size());
    RankCauses& causes = result.emplace_back();
    causes.rank = steps.ranks[r];
    causes.steps.assign(first, first + static_cast<std::ptrdiff_t>(complete.size()));
    causes.mean = sim::mean_of(causes.steps);
  }
  return result;
}

}  // namespace weft::diagnose
