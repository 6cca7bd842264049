// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/error_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/predict/steps.h"

namespace weft::predict {
namespace {

/// A range of this many standard deviations to both sides contains 90 % of a normal distribution.
constexpr double kNinetyPerCent = 1.645;
/// The estimate of the profiler's cost may be wrong by this share (docs/design/prediction.md).
constexpr double kProfilerError = 1.0 / 3;
/// Half width for each unit of change, because a model of a change is never exact.
constexpr double kChangeError = 0.05;
/// Half width that remains if nothing else is uncertain. Runs of one job differ by more than its
/// recorded steps show: by a standard deviation of 0.3 to 8 % in bench/data/h200-settings and the
/// shared recordings, with a median of 5 %, of which the network explains the larger part.
constexpr double kRunError = 0.035;
/// The bar is for the mean of this many steps.
constexpr double kStepsPerRun = 12;
/// Half width if some ranks were not recorded. They may be slower than the others.
constexpr double kMissingRanksError = 0.1;
/// Half width for each doubling of the number of workers beyond a measured number.
/// bench/testbed_accuracy.py compares predictions for twice as many workers with measured steps.
/// The largest error was 9.5 %. Every doubling makes the same error again, so the errors of several
/// doublings add up.
constexpr double kWorkersError = 0.08;
/// Relative standard error of a transfer about which neither a table nor a recording says anything.
constexpr double kUnknownTransferError = 0.1;
/// If the unknown latency of small transfers may make the step longer by more than this share, the
/// question is refused.
constexpr double kMostUnknownLatency = 0.15;

double share(Nanos part, Nanos whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string amount(Bytes bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes < 1'000'000 ? fmt::format("{:.3g} kB", number / 1e3)
                           : fmt::format("{:.3g} MB", number / 1e6);
}

/// The largest power of two that is not above `bytes`, in the form of `weft calibrate --sizes`.
std::string size_below(Bytes bytes) {
  const auto size = std::bit_floor(static_cast<std::uint64_t>(std::max<Bytes>(1, bytes)));
  if (size >= 1024 * 1024) return fmt::format("{}MiB", size / (1024 * 1024));
  return size >= 1024 ? fmt::format("{}KiB", size / 1024) : fmt::format("{}", size);
}

}  // namespace

ErrorEvidence error_evidence(const Job& job) {
  ErrorEvidence evidence;
  evidence.ranks_missing = static_cast<std::int64_t>(job.run.ranks.size()) < job.run.world;
  const StepTimes times = recorded_steps(job.graph);
  for (const std::vector<Nanos>& periods : times.period) {
    double sum = 0, squares = 0, n = 0;
    for (const Nanos p : periods) {
      if (p < 0) continue;
      sum += static_cast<double>(p);
      squares += static_cast<double>(p) * static_cast<double>(p);
      n += 1;
    }
    if (n < 2 || sum <= 0) continue;
    const double mean = sum / n;
    const double variance = std::max(0.0, (squares - n * mean * mean) / (n - 1));
    // Both the recorded mean and the mean of a later run scatter.
    const double error = std::sqrt(variance * (1 / n + 1 / kStepsPerRun)) / mean;
    evidence.steps = std::max(evidence.steps, error);
  }
  return evidence;
}

void set_error_bar(StepPrediction& step, const NetworkRange& range, const ErrorEvidence& evidence) {
  if (step.step <= 0) {
    step.low = step.high = step.step;
    return;
  }
  const double change =
      evidence.baseline > 0 ? share(std::abs(step.step - evidence.baseline), step.step) : 0;
  const double both = std::hypot(
      std::hypot(kNinetyPerCent * evidence.steps, kProfilerError * evidence.profiler),
      std::hypot(kChangeError * change, kRunError, kWorkersError * evidence.worker_doublings),
      evidence.ranks_missing ? kMissingRanksError : 0);
  const double slower = share(std::max<Nanos>(0, range.slow - step.step), step.step);
  const double faster = share(std::max<Nanos>(0, step.step - range.fast), step.step);
  const double latency = share(std::max<Nanos>(0, range.latency - step.step), step.step);
  const double up = std::hypot(both, slower, latency),
               down = std::min(1.0, std::hypot(both, faster));
  step.low = std::llround(static_cast<double>(step.step) * (1 - down));
  step.high = std::llround(static_cast<double>(step.step) * (1 + up));
}

TransferRanges transfer_ranges(const graph::Graph& graph, const cost::LinkModel& links) {
  TransferRanges ranges;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer == graph::kNoId) continue;
    const auto estimate = c.bytes >= 0 ? links.transfer(c.kind, c.ranks, c.bytes) : std::nullopt;
    const auto time = static_cast<double>(graph.ops.duration[c.transfer]);
    const double factor =
        std::exp(kNinetyPerCent * (estimate ? estimate->error : kUnknownTransferError));
    const double longest =
        estimate && estimate->time > 0 ? share(estimate->longest, estimate->time) : 1;
    ranges.transfers.push_back(c.transfer);
    ranges.slow.push_back(std::llround(time * factor));
    ranges.fast.push_back(std::llround(time / factor));
    ranges.latency.push_back(std::llround(time * longest));
  }
  return ranges;
}

std::optional<std::string> unknown_latency(const graph::Graph& graph, const cost::LinkModel& links,
                                           Nanos step, const NetworkRange& range) {
  if (share(range.latency - step, std::max<Nanos>(1, step)) <= kMostUnknownLatency) return {};
  const graph::Collective* smallest = nullptr;
  Bytes all = 0, known = 0;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer == graph::kNoId || c.bytes <= 0) continue;
    const auto estimate = links.transfer(c.kind, c.ranks, c.bytes);
    if (!estimate || estimate->longest <= estimate->time) continue;
    if (!smallest || c.bytes < smallest->bytes) smallest = &c;
    known = links.smallest_known(c.kind, c.ranks);
    all = std::max({all, c.bytes, known});
  }
  if (!smallest) return {};
  const std::string_view name = cost::link_collective_name(smallest->kind);
  return fmt::format(
      "it would move {} by {}, but the recording does not show how long transfers of less than {} "
      "take; measure with 'weft calibrate --collectives {} --sizes {}..{}' and give the table with "
      "--links",
      amount(smallest->bytes), name, amount(known), name, size_below(smallest->bytes),
      size_below(2 * all));
}

}  // namespace weft::predict
