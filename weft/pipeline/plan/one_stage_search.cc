// SPDX-License-Identifier: Apache-2.0
// Searches plans with one stage per device. The method depends on the cluster:
//
//  * Equal devices: groups along the given numbering contain every plan up to symmetry. One exact
//    search over that graph proves the best plan if it ends.
//  * Up to kMostForSetsAlone unequal devices: an exact search over all sets of devices.
//  * Up to kMostForSets devices and kMostSetLayers layers: first along orders of the devices, then
//    an exact search over all sets. The plans of the first search make the second one short.
//  * Up to kMostForOrders devices: along orders of the devices only. The lower bound comes from an
//    idealized cluster (ideal_groups()) and from the total speed (capacity_bound()).
//  * More devices: greedy plans with groups of 1, 2, 4, ... devices, then a climb.
//
// In each case SPP's plans are candidates, so no plan is worse than SPP's.
#include "weft/pipeline/plan/one_stage_search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "weft/pipeline/plan/capacity.h"
#include "weft/pipeline/plan/plan_search.h"
#include "weft/pipeline/rivals/bottleneck.h"
#include "weft/pipeline/rivals/device_orders.h"

namespace weft::pipeline {
namespace {

using DeviceOrder = std::vector<std::int32_t>;

/// With more than kMostForSetsAlone devices, all sets of devices are searched only for models with
/// at most this many layers. The tables of the lookahead then take 200 MB.
constexpr std::int32_t kMostSetLayers = 100;

GroupLimits group_limits(const PlanContext& context) { return {context.options.replicas, 1, 0}; }

/// Tries the plans of SPP, another planner (rivals.h), along the order of `graph`. All of them are
/// tried completely, even if the effort is spent, because the planner promises that its plan is
/// never worse than SPP's.
void take_spp_plans(const PlanContext& context, const GroupGraph& graph, OneStagePlans& plans) {
  const std::int32_t most = std::min(context.task.chain.size(), context.task.cluster.devices);
  if (plans.spp_plans.empty()) plans.spp_plans = bottleneck_plans(context.task, graph, most);
  context.evaluator.stop_at(Evaluator::kNoEnd);
  for (const auto& stages : plans.spp_plans) take_if_shorter(context, stages, plans.best);
}

/// Called after an exact search. If that search has ended without a proof, it may have missed SPP's
/// plans. Then this function tries them, and climbs from the best of them if it is shorter.
void climb_from_spp_plans(const PlanContext& context, const GroupGraph& graph,
                          OneStagePlans& plans) {
  if (plans.exhausted || plans.breaks_memory || plans.best.step <= plans.bound) return;
  Evaluated before = plans.best;
  take_spp_plans(context, graph, plans);
  if (plans.best.step == before.step) return;
  plans.before_spp = std::move(before);
  plans.best =
      climb(context, context.evaluator.ops() + context.budget.spp_climb(), std::move(plans.best));
}

/// Branch and bound over a graph that contains all plans. If the search ends, it has proved that
/// its plan is the best. It starts from a greedy plan and a climb, because a short step prunes much
/// of the search.
void search_exactly(const PlanContext& context, const GroupGraph& graph,
                    const SearchBudget::ExactSearch& budget, const Fitting& fitting,
                    OneStagePlans& plans) {
  const Lookahead lookahead(context.task, graph, context.options.stages, plans.best.step);
  take_if_shorter(context, follow_bound(lookahead), plans.best);
  if (plans.best.step == kNoStep) take_if_shorter(context, fitting.stages, plans.best);
  if (plans.best.step < kNoStep) {
    plans.best = climb(context, budget.until_first_climb, std::move(plans.best));
    plans.breaks_memory = breaks_memory(context, plans.best);
    if (plans.breaks_memory) return;
  }
  PlanEffort effort;
  effort.ops = budget.until_search;
  effort.children = std::min(effort.children, budget.partial_plans);
  FoundPlan found = search_plans(lookahead, context.evaluator, effort, std::move(plans.best));
  plans.best = std::move(found.best);
  plans.bound = std::max(plans.bound, found.bound);
  plans.exhausted = found.exhausted;
  if (!plans.exhausted && plans.best.step < kNoStep) {
    plans.best = climb(context, budget.until_last_climb, std::move(plans.best));
  }
}

/// The orders of the devices to search along. A search along an order considers only plans in which
/// each stage uses consecutive devices of this order. The function returns orders in which devices
/// with fast links are neighbours. If devices have unequal memory, it adds an order for which some
/// plan fits into memory.
std::vector<DeviceOrder> orders_to_search(const PlanContext& context, const Fitting& fitting) {
  auto orders = device_orders(context.task.cluster);
  const auto& memory = context.task.cluster.memory;
  if (fitting.answer != Fit::kFound ||
      std::count(memory.begin(), memory.end(), memory.front()) == std::ssize(memory)) {
    return orders;
  }
  DeviceOrder order;
  for (const PlannedStage& stage : fitting.stages) {
    order.insert(order.end(), stage.devices.begin(), stage.devices.end());
  }
  // Append the devices that the fitting plan does not use, in the sequence of the first order.
  for (const std::int32_t device : orders.front()) {
    if (std::find(order.begin(), order.end(), device) == order.end()) order.push_back(device);
  }
  if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
  return orders;
}

/// Branch and bound along one order of the devices. Only fixed schedules are tried, because the
/// result is just a start for climbs.
Evaluated search_along_order(const PlanContext& context, const DeviceOrder& order, Nanos limit,
                             std::int64_t until) {
  const GroupGraph graph = ordered_groups(context.task.cluster, order, group_limits(context));
  const Lookahead lookahead(context.task, graph, context.options.stages, limit);
  Evaluated best;
  take_if_shorter(context, follow_bound(lookahead), best);
  PlanEffort effort;
  effort.ops = until;
  effort.children = context.budget.order_partial_plans();
  effort.schedules = false;
  return search_plans(lookahead, context.evaluator, effort, std::move(best)).best;
}

/// Climbs (a local search) from each start, the best start first, and returns the shortest plan.
/// Ends early if a plan reaches the bound.
Evaluated climb_from_all(const PlanContext& context, Nanos bound, std::vector<Evaluated> starts) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Evaluated& a, const Evaluated& b) { return a.step < b.step; });
  Evaluated best;
  for (std::size_t i = 0; i < starts.size() && best.step > bound; ++i) {
    Evaluated better =
        climb(context, context.budget.until_order_climb(i, starts.size()), starts[i]);
    if (better.step < best.step) best = std::move(better);
  }
  return best;
}

/// Iterated local search: exchanges one to three random pairs of devices of the best plan and
/// climbs from there, until the effort is spent. The seed is fixed, so the result is deterministic.
Evaluated perturb_and_climb(const PlanContext& context, Nanos bound, Evaluated best) {
  Evaluator& evaluator = context.evaluator;
  const std::int64_t until = context.budget.until_perturbations();
  std::mt19937 random(1);
  while (evaluator.ops() < until && best.step > bound) {
    Evaluated plan = best;
    for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times) {
      PlannedStage& a = plan.stages[random() % plan.stages.size()];
      PlannedStage& b = plan.stages[random() % plan.stages.size()];
      std::swap(a.devices[random() % a.devices.size()], b.devices[random() % b.devices.size()]);
      std::sort(a.devices.begin(), a.devices.end());
      std::sort(b.devices.begin(), b.devices.end());
    }
    const auto start = evaluator.evaluate(plan.stages);
    if (!start) continue;
    const std::int64_t end = std::min(until, evaluator.ops() + context.budget.perturbation_climb());
    Evaluated better = climb(context, end, *start);
    if (better.step < best.step) best = std::move(better);
  }
  return best;
}

/// A better lower bound from the total speed of the devices, between `bound` and the best step.
Nanos raise_bound_by_speed(const PlanContext& context, const GroupGraph& ideal,
                           const std::optional<Nanos>& speed_bound, Nanos bound, Nanos step) {
  std::vector<GroupCost> replicas;
  for (const Group& group : ideal) {
    if (group.first) replicas.push_back(group.cost);
  }
  const Nanos high = std::min(step, 2 * bound);
  if (speed_bound) return std::max(bound, std::min(*speed_bound, high));
  return capacity_bound(context.task, replicas, context.options.stages, bound, high);
}

/// The search along orders of the devices: SPP's plans, branch and bound along each order, climbs,
/// perturbations, and then the lower bound.
void search_orders(const PlanContext& context, const Fitting& fitting,
                   const std::optional<Nanos>& speed_bound, OneStagePlans& plans) {
  const Task& task = context.task;
  const auto orders = orders_to_search(context, fitting);
  take_spp_plans(context, ordered_groups(task.cluster, orders.front(), group_limits(context)),
                 plans);
  // If SPP's plan breaks the memory limits, we assume that shorter plans break them, too.
  plans.breaks_memory = breaks_memory(context, plans.best);
  if (plans.breaks_memory) return;
  std::vector<Evaluated> starts;
  if (plans.best.step < kNoStep) starts.push_back(std::exchange(plans.best, {}));
  // The lookaheads may ignore plans that are longer than a known plan.
  const Nanos limit = starts.empty() ? kNoPlan : starts.front().step;
  const GroupGraph ideal = ideal_groups(task.cluster, group_limits(context));
  const Nanos least = Lookahead(task, ideal, context.options.stages, limit).least();
  plans.bound = std::max(std::min(least, limit), least_work(task));
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const std::int64_t until = context.budget.until_order_search(i, orders.size());
    Evaluated found = search_along_order(context, orders[i], limit, until);
    plans.breaks_memory = breaks_memory(context, found);
    if (plans.breaks_memory) return;
    if (found.step < kNoStep) starts.push_back(std::move(found));
  }
  if (starts.empty()) {
    Evaluated fitted;
    take_if_shorter(context, fitting.stages, fitted);
    if (fitted.step < kNoStep) starts.push_back(std::move(fitted));
  }
  plans.best = climb_from_all(context, plans.bound, std::move(starts));
  if (plans.best.step < kNoStep) {
    plans.best = perturb_and_climb(context, plans.bound, std::move(plans.best));
  }
  if (plans.bound < plans.best.step && task.chain.size() <= kMostCapacityLayers) {
    plans.bound = raise_bound_by_speed(context, ideal, speed_bound, plans.bound, plans.best.step);
  }
}

/// For clusters with many devices. Devices are grouped into units of equal size. For each unit size
/// of 1, 2, 4, ... devices, makes a greedy plan whose stages have one to four units. Then climbs
/// from the best of these plans, moving cuts but not devices.
void search_large_cluster(const PlanContext& context, const Fitting& fitting,
                          OneStagePlans& plans) {
  const Task& task = context.task;
  plans.bound = least_work(task);
  const std::int32_t most =
      context.options.replicas > 0 ? context.options.replicas : task.cluster.devices;
  for (const auto& order : orders_to_search(context, fitting)) {
    std::int32_t unit = 1;
    while (2 * unit <= most) unit *= 2;
    // Large units come first. Their graphs have few groups, and the best step that they give limits
    // the other lookaheads.
    for (; unit >= 1; unit /= 2) {
      GroupLimits limits = group_limits(context);
      limits.unit = unit;
      limits.sizes = 4;
      const GroupGraph graph = ordered_groups(task.cluster, order, limits);
      const Lookahead lookahead(task, graph, context.options.stages, plans.best.step);
      take_if_shorter(context, follow_bound(lookahead), plans.best);
    }
  }
  if (plans.best.step == kNoStep) take_if_shorter(context, fitting.stages, plans.best);
  if (plans.best.step == kNoStep) return;
  ImproveLimits limits{context.options.stages, context.options.replicas,
                       context.evaluator.ops() + context.budget.large_cluster_climb()};
  limits.devices = false;
  plans.best = improve(task, context.evaluator, limits, std::move(plans.best));
}

}  // namespace

OneStagePlans search_one_stage(const PlanContext& context, const Fitting& fitting,
                               const std::optional<Nanos>& speed_bound, OneStagePlans known) {
  if (fitting.answer == Fit::kNone) return known;
  OneStagePlans plans = std::move(known);
  const Cluster& cluster = context.task.cluster;
  const GroupLimits limits = group_limits(context);
  if (all_alike(cluster) && cluster.devices <= kMostForOrders) {
    DeviceOrder numbering(cluster.devices);
    std::iota(numbering.begin(), numbering.end(), 0);
    const GroupGraph graph = ordered_groups(cluster, numbering, limits);
    search_exactly(context, graph, context.budget.exact_search(), fitting, plans);
    climb_from_spp_plans(context, graph, plans);
  } else if (cluster.devices <= kMostForSetsAlone) {
    search_exactly(context, set_groups(cluster, limits), context.budget.exact_search(), fitting,
                   plans);
    const DeviceOrder order = device_orders(cluster).front();
    climb_from_spp_plans(context, ordered_groups(cluster, order, limits), plans);
  } else if (cluster.devices <= kMostForSets && context.task.chain.size() <= kMostSetLayers) {
    search_orders(context, fitting, speed_bound, plans);
    if (plans.breaks_memory) return plans;
    search_exactly(context, set_groups(cluster, limits), context.budget.exact_search_after_orders(),
                   fitting, plans);
  } else if (cluster.devices <= kMostForOrders) {
    search_orders(context, fitting, speed_bound, plans);
  } else {
    search_large_cluster(context, fitting, plans);
  }
  return plans;
}

}  // namespace weft::pipeline
