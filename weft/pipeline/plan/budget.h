// SPDX-License-Identifier: Apache-2.0
// Divides the search effort of the planner among its parts. One call of make_plan() is called a
// planning here.
//
// Effort is counted in simulated ops (Evaluator::ops()), not in seconds, so the same input has the
// same plan on every machine. One counter runs through the whole planning. The limit of a part is
// of one of two kinds:
// * until_...(): the value of the counter at which the part stops. If the parts before it have not
//   used all of their effort, such a part also gets the rest.
// * Other functions: the ops that the part may add to the counter, however large the counter is by
//   then. Such a part gets its share even if the parts before it have used up the total, because it
//   can still find a much better plan. Together the shares therefore exceed the total.
//
// The shares are tuned with two benchmarks: bench/pipeline_replanning (planning 64 layers on 16
// devices takes at most 100 ms) and bench/pipeline_tight (quality of plans under tight memory).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// Up to this many devices, searching all sets of devices takes milliseconds. So this search runs
/// at once. With more devices (up to kMostForSets, see groups.h), a search along orders of the
/// devices runs before it: that search considers only groups of devices that are neighbours in an
/// order.
constexpr std::int32_t kMostForSetsAlone = 8;
/// Up to this many devices, the search along orders of the devices tries groups of every size. With
/// more devices, it tries group sizes in coarse steps, and builds each plan greedily.
constexpr std::int32_t kMostForOrders = 64;

/// A fraction of the total effort.
struct Share {
  std::int64_t numerator = 1, denominator = 1;
  constexpr std::int64_t of(std::int64_t total) const { return total * numerator / denominator; }
};

class SearchBudget {
 public:
  /// `requested` is PlannerOptions::ops; 0 means that the total is chosen from the size of the
  /// task. A task with memory limits is first planned without them, and then planned within them.
  /// For the second planning, `spent_without_limits` is the number of ops that the first has used.
  SearchBudget(const Task& task, std::int64_t requested,
               std::optional<std::int64_t> spent_without_limits);

  std::int64_t total() const { return total_; }

  /// Branch and bound over one graph that contains all plans (plan_search.h).
  struct ExactSearch {
    std::int64_t until_first_climb = 0, until_search = 0, until_last_climb = 0;
    std::int64_t partial_plans = 0;  ///< most partial plans that the search may generate
  };
  /// Gets the whole total: if this search ends, it has found and proved the best plan.
  ExactSearch exact_search() const { return exact(total_); }
  /// The budget of the same search if it runs after the search along orders, which may have used up
  /// the total.
  ExactSearch exact_search_after_orders() const { return exact(2 * total_); }

  // Budgets of the search along orders of the devices (one_stage_search.cc). `orders`: their
  // number.

  std::int64_t until_order_search(std::size_t order, std::size_t orders) const;
  /// Most partial plans that the search along one order may generate.
  std::int64_t order_partial_plans() const;
  std::int64_t until_order_climb(std::size_t start, std::size_t starts) const;
  /// For perturbations: small random changes of the best plan. They are the last phase of the
  /// search along orders, so they get all effort that the other phases have left.
  std::int64_t until_perturbations() const { return total_; }
  std::int64_t perturbation_climb() const { return kPerturbationClimb.of(total_); }

  /// For a local search (climb) from the best plan of SPP, another planner (rivals.h). It runs if
  /// this plan is better than the plan that the exact search found.
  std::int64_t spp_climb() const { return kClimb.of(total_); }
  /// For a climb from the best plan with even stages. It runs if this plan is better than the best
  /// plan so far.
  std::int64_t even_climb() const { return kClimb.of(total_); }
  std::int64_t even_plans() const { return kEvenPlans.of(total_); }
  std::int64_t micro_batch_order() const { return kMicroBatchOrder.of(total_); }
  std::int64_t large_cluster_climb() const;
  std::int64_t shared_devices() const;

 private:
  /// A climb stops by itself at a local minimum. The share only limits climbs that converge slowly,
  /// so that none of them uses up the effort of the parts behind it.
  static constexpr Share kClimb{1, 4};
  /// The search along orders of the devices has three phases: branch and bound along each order,
  /// climbs from the plans that branch and bound has found, and perturbations. They get equal
  /// shares, because each phase starts from the result of the phase before, and we do not know
  /// which phase matters most.
  static constexpr Share kOrderPhase{1, 3};
  /// Perturbations get a third of the total, so at least six climbs of this length fit. A climb
  /// that leads nowhere therefore costs little.
  static constexpr Share kPerturbationClimb{1, 20};
  /// An even plan cuts the layers into stages of about equal time. There are only two even plans
  /// per placement of stages. Without tight memory these plans need only a small part of the share.
  /// Under tight memory the share limits the search for the stages that recompute.
  static constexpr Share kEvenPlans{1, 16};
  /// A search for an order of micro-batches has a fixed effort (short_search() in evaluate.cc).
  /// Each choice of stages that recompute needs a separate search. The share limits how many
  /// choices are searched.
  static constexpr Share kMicroBatchOrder{1, 4};
  /// Plans with shared devices get less than plans with one stage per device. The reason is that
  /// the search for plans with shared devices starts from the best plan with one stage per device.
  /// interleave.cc divides the share between climbs and searches for orders of micro-batches.
  static constexpr Share kSharedDevices{1, 4};
  /// Replaces kSharedDevices if there are more than kMostForOrders devices. The usual total is then
  /// 32 million ops, so this share is a million ops.
  static constexpr Share kSharedDevicesOfLargeClusters{1, 32};
  /// A large cluster has no branch and bound. The climb from greedy plans is its whole search.
  /// Planning 1,000 layers on 1,024 devices must take at most a minute.
  static constexpr Share kLargeClusterClimb{14, 1};
  /// Replaces kLargeClusterClimb if memory is limited. Each evaluation then simulates several
  /// choices of stages that recompute, so the same number of ops takes much longer.
  static constexpr Share kLargeClusterClimbWithinMemory{2, 1};

  ExactSearch exact(std::int64_t total) const;
  bool is_large() const { return devices_ > kMostForOrders; }

  std::int32_t devices_;
  bool limit_memory_;
  std::int64_t total_ = 0;
  std::int64_t least_shared_devices_ = 0;
};

}  // namespace weft::pipeline
