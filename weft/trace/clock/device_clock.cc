// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/device_clock.h"

#include <algorithm>
#include <string>

#include "weft/base/median.h"
#include "weft/base/parallel.h"
#include "weft/trace/launches.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kDeviceClock{
    "device-clock-behind", Severity::kInfo,
    "device work has time stamps before those of its launch; the rank's device events were shifted",
    "nothing to do; newer profilers convert device time more exactly"};

/// Device work starts no earlier than this after the beginning of its launch call.
constexpr Nanos kShortestLaunch = 2 * kMicrosecond;
/// A larger lag does not come from clock conversion: the recording is broken, and stays as it is.
constexpr Nanos kLargestLag = 5 * kMillisecond;
constexpr double kOutliers = 0.005;  ///< fraction of the work that may stay before its launch

bool is_on_device(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset ||
         kind == EventKind::kGpuAnnotation;
}

}  // namespace

Nanos device_clock_lag(const RankTrace& trace) {
  const Launches launches = resolve_launches(trace);
  std::vector<Nanos> after_launch;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::uint32_t call = launches.launcher[i];
    if (call == kNone || !is_on_device(trace.events.kind[i])) continue;
    after_launch.push_back(trace.events.start[i] - trace.events.start[call]);
  }
  if (after_launch.empty()) return 0;
  const Nanos low = quantile(after_launch, kOutliers);
  const Nanos lag = kShortestLaunch - low;
  return low < 0 && lag <= kLargestLag ? lag : 0;
}

void correct_device_clocks(Run& run, Diagnostics& diagnostics) {
  std::vector<Nanos> lags(run.ranks.size());
  parallel_for(run.ranks.size(), [&](std::size_t r) {
    RankTrace& trace = run.ranks[r];
    lags[r] = device_clock_lag(trace);
    if (lags[r] == 0) return;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      if (is_on_device(trace.events.kind[i])) trace.events.start[i] += lags[r];
    }
  });
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    if (lags[r] == 0) continue;
    diagnostics.add(kDeviceClock, "rank " + std::to_string(run.ranks[r].rank) + ": " +
                                      std::to_string(lags[r] / kMicrosecond) + " us");
  }
}

}  // namespace weft::trace
