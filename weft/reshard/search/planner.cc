// SPDX-License-Identifier: Apache-2.0
// Makes plans in several ways and returns the cheapest plan:
//   1. the direct plan. If it meets the lower bound, or if no search is wanted, it is returned at
//      once;
//   2. the normal form, which has few messages;
//   3. if bandwidth between nodes is limited: two searches through the most promising waypoint;
//   4. A* over types, with the rounds that may still be priced;
//   5. if messages cost something: relay plans.
// The time of the best plan so far is an upper bound for all later searches, so that they can stop
// early.
#include "weft/reshard/search/planner.h"

#include <algorithm>

#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/moves.h"
#include "weft/reshard/search/normal_form.h"
#include "weft/reshard/search/relay.h"
#include "weft/reshard/search/search.h"

namespace weft::reshard {
namespace {

/// A search prices at least this many rounds, however many devices there are.
constexpr std::int64_t kLeastRounds = 60;

/// The number of rounds that a search may price. On 64 devices they take about a millisecond. The
/// number falls with the square of the number of devices, for two reasons. The time to price a
/// round is linear in devices. And on few devices, messages are a larger part of the cost, so a
/// longer search gains more.
std::int64_t affordable_rounds(const Problem& problem, const TypeLayouts& layouts) {
  constexpr std::int64_t kMost = 20'000, kWork = 2'000'000;
  const auto devices = static_cast<std::int64_t>(problem.devices.size());
  std::int64_t work = kWork;
  if (!problem.node_of.empty()) {
    // Counting the traffic between nodes about doubles the cost of a round, and costs more if nodes
    // are not grids. These factors keep bench/reshard_planning within its limits.
    const bool grids = layouts.node_grid(0) && layouts.node_grid(1);
    work = grids ? kWork * 2 / 5 : kWork / 6;
  }
  return std::clamp(work / std::max<std::int64_t>(1, devices * devices), kLeastRounds, kMost);
}

/// Whether all intermediate layouts of the plan are allowed. The last layout is the target, which
/// is always allowed.
bool layouts_allowed(const Plan& plan, const PlannerOptions& options) {
  if (!options.layout_allowed) return true;
  const Layout* before = nullptr;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      if (before != nullptr && !options.layout_allowed(*before)) return false;
      before = layout.get();
    }
  }
  return true;
}

/// The waypoint with the cheapest pair of direct exchanges, source to waypoint to target. Other
/// waypoints hardly ever lead to the cheapest plan, so only this waypoint is tried.
std::optional<Type> best_waypoint(const Problem& problem, const FactoredProblem& factored,
                                  TypeLayouts& layouts, const Link& link, OverlapCache& overlaps) {
  const LayoutPtr from = layouts.layout(factored.from);
  std::optional<Type> best;
  Picos least = 0;
  for (const Type& place : node_waypoints(factored)) {
    const LayoutPtr layout = layouts.layout(place);
    const Picos cost = price(link, traffic(*from, *layout, overlaps), problem.item_size) +
                       price(link, traffic(*layout, problem.target, overlaps), problem.item_size);
    if (best && cost >= least) continue;
    best = place;
    least = cost;
  }
  return best;
}

Picos least_time(const Problem& problem, const Bounds& least, const Link& link) {
  if (least.recv_max == 0) return 0;
  return least_price(link, {least.recv_max, 0, 1, least.node_recv_max}, problem.item_size);
}

}  // namespace

Picos least_time(const Problem& problem, const Link& link) {
  return least_time(problem, bounds(problem), link);
}

Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options) {
  OverlapCache overlaps(problem.node_of);
  const Bounds least = bounds(problem);
  // If summands are cast only after they are added up, intermediate elements may be wider than the
  // elements of the larger end. Then fewer elements fit into the same bytes.
  const std::int64_t memory =
      std::min(least.memory, least_peak_bytes(problem) / std::max<Bytes>(1, problem.item_size));
  std::optional<Plan> best;
  const auto offer = [&](std::optional<Plan> plan) {
    if (plan && (!best || plan->time < best->time) && layouts_allowed(*plan, options)) {
      best = std::move(plan);
    }
  };
  const std::optional<FactoredProblem> factored = factor(problem);
  if (!problem.target.partial()) offer(direct_plan(problem, factored, options.link, overlaps));
  if (best && (options.direct || best->time <= least_time(problem, least, options.link)))
    return *best;
  if (factored) {
    SearchLimits limits;
    limits.memory = memory;
    limits.layout_allowed = options.layout_allowed;
    TypeLayouts layouts(problem, *factored);
    limits.rounds =
        options.search_rounds > 0 ? options.search_rounds : affordable_rounds(problem, layouts);
    offer(normal_plan(problem, *factored, layouts, options.link, overlaps));
    if (best) limits.upper_bound = best->time;
    const bool summands = problem.source.partial() || problem.target.partial();
    if (options.link.node_bandwidth > 0 && !summands) {
      if (const auto place = best_waypoint(problem, *factored, layouts, options.link, overlaps)) {
        // The search through the waypoint may price two fifths of the rounds. The rounds that it
        // does not use are left for the search from the source.
        SearchLimits part = limits;
        part.rounds = std::max(kLeastRounds, limits.rounds * 2 / 5);
        limits.rounds -= part.rounds;
        offer(search_via(*place, problem, *factored, layouts, options.link, part, overlaps));
        limits.rounds = std::max(kLeastRounds, limits.rounds + part.rounds);
        if (best) limits.upper_bound = best->time;
      }
    }
    offer(search(problem, *factored, layouts, options.link, limits, overlaps));
  }
  if (best && !options.direct && options.link.message > 0) {
    offer(relay_plan(problem, options.link, memory, best->time, overlaps));
  }
  if (!best) {
    return fail(
        ErrorCode::kInfeasible,
        "no plan leads to the partial target: the meshes of source and target have no common "
        "factors; use the same devices and axis sizes for both");
  }
  return *best;
}

}  // namespace weft::reshard
