// SPDX-License-Identifier: Apache-2.0
// Finds plans whose rounds can all run with one buffer.
//
// The cheapest plan often has a round that needs two buffers. So several plans are made. They are
// tried in order, the cheapest first. The first plan whose rounds can all run in place is used.
#include <algorithm>

#include "weft/reshard/execute/program/in_place.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/normal_form.h"

namespace weft::reshard::execute {
namespace {

/// Makes several plans, some of which may be possible in place.
std::vector<Plan> candidates(const Problem& problem, const PlannerOptions& options) {
  std::vector<Plan> plans;
  OverlapCache overlaps(problem.node_of);
  if (options.direct && !problem.target.partial()) {
    return {direct_plan(problem, options.link, overlaps)};
  }
  // A plan with few rounds moves much data per round. Such rounds often need both buffers. If
  // rounds cost nothing, the planner finds plans with more and simpler rounds.
  PlannerOptions volume_alone = options;
  volume_alone.link.step = volume_alone.link.message = 0;
  for (const PlannerOptions& prices : {options, volume_alone}) {
    if (auto plan = make_plan(problem, prices)) plans.push_back(std::move(*plan));
  }
  if (!problem.target.partial()) plans.push_back(direct_plan(problem, options.link, overlaps));
  if (const auto factored = factor(problem)) {
    TypeLayouts layouts(problem, *factored);
    if (auto plan = normal_plan(problem, *factored, layouts, options.link, overlaps)) {
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

/// Plans that first give every device the sum over the part that it holds, and then move the array.
/// The first step is an all-reduce, which can always run in place. Other reductions often cannot.
std::vector<Plan> sums_first(const Problem& problem, const PlannerOptions& options) {
  const std::size_t summands = problem.source.group_of_summand.size();
  const auto joined_groups = [&](Layout layout) {
    layout.group_of_summand.assign(summands, 0);
    layout.groups = 1;
    layout.team.clear();
    for (std::int32_t& group : layout.group) group = std::min(group, 0);
    return std::make_shared<const Layout>(std::move(layout));
  };
  Problem rest = problem;
  const LayoutPtr summed = joined_groups(problem.source);
  rest.source = *summed;
  rest.source.group_of_summand = {0};
  rest.target.group_of_summand = {0};
  if (rest.source_type) rest.source_type->partial.clear();
  OverlapCache overlaps(problem.node_of);
  const Step sum{Op::kAllReduce, {summed}, traffic(problem.source, *summed, overlaps)};
  std::vector<Plan> plans = candidates(rest, options);
  for (Plan& plan : plans) {
    for (Step& step : plan.steps) {
      for (LayoutPtr& layout : step.layouts) layout = joined_groups(*layout);
    }
    plan.steps.insert(plan.steps.begin(), sum);
  }
  return plans;
}

}  // namespace

Result<Plan> make_plan_in_place(const Problem& problem, const PlannerOptions& options,
                                Bytes budget) {
  WEFT_TRY(make_plan(problem, options));
  std::vector<Plan> plans = candidates(problem, options);
  if (problem.source.partial() && !problem.target.partial() && !options.direct) {
    for (Plan& plan : sums_first(problem, options)) plans.push_back(std::move(plan));
  }
  for (Plan& plan : plans) update_totals(plan, problem, options.link);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& a, const Plan& b) { return a.time < b.time; });
  Error why;
  for (Plan& plan : plans) {
    const auto programs = make_programs_in_place({{&problem, &plan, {}}}, {}, {budget, true});
    if (programs) return std::move(plan);
    why = programs.error();
  }
  return tl::unexpected(why);
}

}  // namespace weft::reshard::execute
