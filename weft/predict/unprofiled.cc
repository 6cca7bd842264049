// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/unprofiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/predict/summary.h"

namespace weft::predict {
namespace {

/// The first steps of a job take longer: it allocates memory, compiles kernels and chooses
/// algorithms. Steps below this number do not count.
constexpr std::int64_t kWarmUp = 3;
constexpr std::size_t kLeast = 3;
/// The wall time of a step differs from its prediction by several per cent even if nothing is
/// wrong.
constexpr double kTolerance = 0.15;

constexpr DiagnosticKind kUntypical{
    "untypical-steps", Severity::kWarning,
    "the recorded steps do not represent the job: its steps without profiler take another time "
    "than "
    "the baseline",
    "record other or more steps with weft record --steps; with gradient accumulation, evaluation "
    "or "
    "inputs of changing length, record enough steps to cover their cycle"};

std::string ms(Nanos time) {
  return fmt::format("{:.4g} ms", static_cast<double>(time) / kMillisecond);
}

}  // namespace

std::optional<UnprofiledSteps> unprofiled_steps(const trace::Run& run) {
  std::vector<std::vector<trace::UnprofiledStep>> ranks;
  for (const trace::RankTrace& rank : run.ranks) ranks.push_back(trace::unprofiled_steps(rank));
  return unprofiled_steps(ranks);
}

std::optional<UnprofiledSteps> unprofiled_steps(
    const std::vector<std::vector<trace::UnprofiledStep>>& ranks) {
  std::map<std::int64_t, Nanos> longest;  // by the number of the step
  for (const std::vector<trace::UnprofiledStep>& rank : ranks) {
    for (const trace::UnprofiledStep& step : rank) {
      if (step.number < kWarmUp) continue;
      Nanos& time = longest[step.number];
      time = std::max(time, step.time);
    }
  }
  if (longest.size() < kLeast) return std::nullopt;
  std::vector<Nanos> times;
  for (const auto& [number, time] : longest) times.push_back(time);
  std::sort(times.begin(), times.end());
  const auto at = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  const std::size_t n = times.size();
  const Nanos median = (times[(n - 1) / 2] + times[n / 2]) / 2;
  return UnprofiledSteps{static_cast<std::int64_t>(n), median, at(10), times[n - 1 - (n - 1) / 10]};
}

bool is_typical(const UnprofiledSteps& unprofiled, const StepPrediction& baseline) {
  if (unprofiled.median >= baseline.low && unprofiled.median <= baseline.high) return true;
  const auto difference = static_cast<double>(unprofiled.median - baseline.step);
  return std::abs(difference) <= kTolerance * static_cast<double>(baseline.step);
}

void warn_untypical(const ReplaySummary& summary, Diagnostics& diagnostics) {
  const StepPrediction& baseline = summary.prediction.baseline;
  if (!summary.unprofiled || is_typical(*summary.unprofiled, baseline)) return;
  diagnostics.add(kUntypical, fmt::format("median of {} steps without profiler: {}; baseline: {}",
                                          summary.unprofiled->count, ms(summary.unprofiled->median),
                                          ms(baseline.step)));
}

}  // namespace weft::predict
