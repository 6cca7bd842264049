// SPDX-License-Identifier: Apache-2.0
// The checks use floating point to estimate the largest values that a plan can produce: the whole
// step on the slowest device, all messages over the slowest link, all memory on one device. Times
// are int64 nanoseconds, so a limit of 1e17 leaves a factor of 92 for sums of such values.
#include "weft/pipeline/model/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr double kMostOfPlan = 1e17;  ///< nanoseconds (three years) or bytes, for a whole plan
/// Nanoseconds (more than an hour) for one op; check(Pipeline) has the same limit.
constexpr auto kLongest = static_cast<double>(1LL << 42);

tl::unexpected<Error> absurd(std::string what) {
  return fail(ErrorCode::kBadInput, std::move(what));
}

double seconds(double nanos) { return nanos * 1e-9; }

Status check_work(const Task& task) {
  const LayerChain& chain = task.chain;
  const auto [slowest, fastest] =
      std::minmax_element(task.cluster.speed.begin(), task.cluster.speed.end());
  const double step = static_cast<double>(chain.forward.back() + chain.backward.back()) / *slowest *
                      task.micro_batches;
  if (!(step <= kMostOfPlan)) {
    return absurd(
        fmt::format("a step would take {:.3g} s on the slowest device; give the times of layers "
                    "in milliseconds and speeds around 1",
                    seconds(step)));
  }
  for (std::int32_t i = 0; i < chain.size(); ++i) {
    const Nanos longer = std::max(chain.forward[i + 1] - chain.forward[i],
                                  chain.backward[i + 1] - chain.backward[i]);
    // No stage is faster than all devices together at the speed of the fastest one.
    const double least = static_cast<double>(longer) / (*fastest * task.cluster.devices);
    if (least <= kLongest) continue;
    return absurd(
        fmt::format("layer '{}' takes at least {:.3g} s for one micro-batch; give the times of "
                    "layers in milliseconds",
                    chain.ids[i], seconds(least)));
  }
  return {};
}

/// Estimates all messages of a step, and the all-reduce of all gradients, over the slowest link of
/// the cluster.
Status check_links(const Task& task) {
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bandwidth : task.cluster.bandwidth) {
    if (bandwidth > 0) slowest = std::min(slowest, bandwidth);
  }
  for (const SharedLink& link : task.cluster.shared) slowest = std::min(slowest, link.bandwidth);
  const double per_byte = 1e9 / static_cast<double>(slowest);
  const auto message =
      static_cast<double>(*std::max_element(task.chain.cut.begin(), task.chain.cut.end()));
  const auto gradients = static_cast<double>(task.chain.parameters.back());
  const double time = per_byte * std::max(2.0 * task.micro_batches * message, 2 * gradients);
  if (time > kMostOfPlan) {
    return absurd(fmt::format(
        "{:.3g} bytes would take {:.3g} s over the slowest link, which has "
        "{} bytes per second; set its bandwidth to 0 to leave it out",
        std::max(message, gradients), seconds(per_byte * std::max(message, gradients)), slowest));
  }
  const Nanos latency = *std::max_element(task.cluster.latency.begin(), task.cluster.latency.end());
  const double times = 2.0 * std::max<double>(task.cluster.devices, task.micro_batches);
  if (static_cast<double>(latency) * times > kMostOfPlan) {
    return absurd(fmt::format("a latency of {:.3g} s is too long; give latencies in microseconds",
                              seconds(static_cast<double>(latency))));
  }
  return {};
}

Status check_memory(const Task& task) {
  const double state =
      static_cast<double>(task.state_factor) * static_cast<double>(task.chain.parameters.back());
  const double kept =
      static_cast<double>(task.micro_batches) * static_cast<double>(task.chain.stash.back());
  if (state <= kMostOfPlan && kept <= kMostOfPlan) return {};
  return absurd(
      fmt::format("{} would take {:.3g} bytes",
                  state > kMostOfPlan ? "parameters and their state" : "all micro-batches",
                  std::max(state, kept)));
}

}  // namespace

Status check_limits(const Task& task) {
  WEFT_TRY(check_work(task));
  if (task.cluster.devices > 1) WEFT_TRY(check_links(task));
  return check_memory(task);
}

}  // namespace weft::pipeline
