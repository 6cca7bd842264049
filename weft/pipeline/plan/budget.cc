// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/budget.h"

#include <algorithm>
#include <limits>

#include "weft/pipeline/plan/groups.h"

namespace weft::pipeline {
namespace {

/// The total effort, in simulated ops, for tasks without memory limits. Small clusters get so many
/// ops that the exact search usually ends with a proof. At 11 to 16 devices the total is small, so
/// that 64 layers on 16 devices take less than 100 ms; models with fewer layers get up to eight
/// times as many ops, which take no longer. Larger clusters have far more plans, and planning them
/// may take longer than 100 ms.
std::int64_t usual_total(const Task& task) {
  const std::int32_t devices = task.cluster.devices;
  if (devices <= kMostForSetsAlone) return 12'000'000;
  if (devices <= kMostForSets) return 4'000'000;
  if (devices <= 16) {
    const std::int64_t size = static_cast<std::int64_t>(task.chain.size()) * devices;
    return 500'000 * std::clamp<std::int64_t>(1024 / size, 1, 8);
  }
  return devices <= 32 ? 16'000'000 : 32'000'000;
}

/// Most partial plans that the search along one order may generate. Generating them takes time that
/// the counter of ops does not show, so they have a separate limit.
constexpr std::int64_t kMostOrderPartialPlans = 500'000;
/// The search may generate one partial plan per this many ops of the total. Under memory limits a
/// partial plan takes more time, because its bound is computed twice: with and without
/// recomputation in its last stage.
constexpr std::int64_t kOpsOfPartialPlan = 4, kOpsOfPartialPlanWithinMemory = 12;

}  // namespace

SearchBudget::SearchBudget(const Task& task, std::int64_t requested,
                           std::optional<std::int64_t> spent_without_limits)
    : devices_(task.cluster.devices), limit_memory_(task.limit_memory), total_(requested) {
  if (requested != 0) return;
  total_ = usual_total(task);
  // Plans with shared devices get at least this many ops. A share of a small total would be enough
  // for a few candidates only.
  least_shared_devices_ = 500'000;
  if (!spent_without_limits || is_large()) return;
  // The task was planned without memory limits first. That planning stopped early, at the first
  // good plan that breaks the limits. The ops that it has not used are added here, because many of
  // the plans that are tried under limits do not fit into memory.
  total_ = std::max(total_, 2 * total_ - *spent_without_limits);
  if (devices_ <= kMostForSets) return;
  // With more than kMostForSets devices, planning without limits and planning within limits
  // together may take only as long as one planning. An op takes longer within limits. So the total
  // is reduced.
  total_ = Share{3, 4}.of(total_);
  least_shared_devices_ = 300'000;
}

SearchBudget::ExactSearch SearchBudget::exact(std::int64_t total) const {
  ExactSearch search;
  // A climb before the search finds a good plan, with which the search can prune more. A climb
  // after the search helps only if the search has stopped early, when the total is spent. So that
  // climb gets effort beyond the total.
  search.until_first_climb = kClimb.of(total);
  search.until_search = total;
  search.until_last_climb = total + kClimb.of(total);
  // With few devices the search ends soon. With more devices, generating partial plans takes time
  // too, so their number is limited.
  search.partial_plans = devices_ > kMostForSets ? total : std::numeric_limits<std::int64_t>::max();
  return search;
}

std::int64_t SearchBudget::until_order_search(std::size_t order, std::size_t orders) const {
  return kOrderPhase.of(total_) * static_cast<std::int64_t>(order + 1) /
         static_cast<std::int64_t>(orders);
}

std::int64_t SearchBudget::order_partial_plans() const {
  return std::min(kMostOrderPartialPlans,
                  total_ / (limit_memory_ ? kOpsOfPartialPlanWithinMemory : kOpsOfPartialPlan));
}

std::int64_t SearchBudget::until_order_climb(std::size_t start, std::size_t starts) const {
  const std::int64_t phase = kOrderPhase.of(total_);
  return phase + phase * static_cast<std::int64_t>(start + 1) / static_cast<std::int64_t>(starts);
}

std::int64_t SearchBudget::large_cluster_climb() const {
  return (limit_memory_ ? kLargeClusterClimbWithinMemory : kLargeClusterClimb).of(total_);
}

std::int64_t SearchBudget::shared_devices() const {
  const Share share = is_large() ? kSharedDevicesOfLargeClusters : kSharedDevices;
  return std::max(share.of(total_), least_shared_devices_);
}

}  // namespace weft::pipeline
