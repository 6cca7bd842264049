// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/planner.h"

#include <algorithm>

#include "weft/reshard/bounds.h"
#include "weft/reshard/factors.h"
#include "weft/reshard/moves.h"
#include "weft/reshard/normal_form.h"
#include "weft/reshard/relay.h"
#include "weft/reshard/search.h"

namespace weft::reshard {
namespace {

/// About a millisecond at 64 devices. The fewer devices, the smaller their parts and the more there
/// is to gain from fewer messages, and the more rounds can be looked at.
std::int64_t affordable_rounds(const Problem& problem) {
  constexpr std::int64_t kMost = 20'000, kLeast = 60, kWork = 2'000'000;
  const auto devices = static_cast<std::int64_t>(problem.devices.size());
  return std::clamp(kWork / std::max<std::int64_t>(1, devices * devices), kLeast, kMost);
}

/// Whether the array may rest wherever it does between two rounds of the plan.
bool rests_well(const Plan& plan, const PlannerOptions& options) {
  if (!options.may_rest) return true;
  const Layout* before = nullptr;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      if (before != nullptr && !options.may_rest(*before)) return false;
      before = layout.get();
    }
  }
  return true;
}

Picos least_time(const Problem& problem, const Bounds& least, const Link& link) {
  if (least.recv_max == 0) return 0;
  return price(link, {least.recv_max, 0, 1, least.node_recv_max}, problem.item_size);
}

}  // namespace

Picos least_time(const Problem& problem, const Link& link) {
  return least_time(problem, bounds(problem), link);
}

Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options) {
  Meetings meetings(problem.node_of);
  const Bounds least = bounds(problem);
  // What is between may be wider than the larger end: summands are, if their sum is to be cast.
  const std::int64_t memory =
      std::min(least.memory, least_peak_bytes(problem) / std::max<Bytes>(1, problem.item_size));
  std::optional<Plan> best;
  const auto offer = [&](std::optional<Plan> plan) {
    if (plan && (!best || plan->time < best->time) && rests_well(*plan, options)) {
      best = std::move(plan);
    }
  };
  const std::optional<FactoredProblem> factored = factor(problem);
  if (!problem.target.partial()) offer(direct_plan(problem, factored, options.link, meetings));
  if (best && (options.direct || best->time <= least_time(problem, least, options.link)))
    return *best;
  if (factored) {
    SearchLimits limits;
    limits.memory = memory;
    limits.rounds = options.search_rounds > 0 ? options.search_rounds : affordable_rounds(problem);
    limits.may_rest = options.may_rest;
    TypeLayouts layouts(problem, *factored);
    offer(search(problem, *factored, layouts, options.link, limits, meetings));
    offer(normal_plan(problem, *factored, layouts, options.link, meetings));
    if (options.link.node_bandwidth > 0) {
      for (const Type& place : stopovers(*factored)) {
        offer(search_through(place, problem, *factored, layouts, options.link, limits, meetings));
      }
    }
  }
  if (best && !options.direct && options.link.message > 0) {
    offer(relay_plan(problem, options.link, memory, best->time, meetings));
  }
  if (!best) {
    return fail(ErrorCode::kInfeasible,
                "no way to a partial target: the axes of the meshes share no factors");
  }
  return *best;
}

}  // namespace weft::reshard
