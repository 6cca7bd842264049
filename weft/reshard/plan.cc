// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/plan.h"

#include <algorithm>

#include "weft/reshard/search/collectives.h"

namespace weft::reshard {

std::string_view op_name(Op op) {
  switch (op) {
    case Op::kDynamicSlice:
      return "dynamic_slice";
    case Op::kAllGather:
      return "all_gather";
    case Op::kAllToAll:
      return "all_to_all";
    case Op::kAllPermute:
      return "all_permute";
    case Op::kReduceScatter:
      return "reduce_scatter";
    case Op::kAllReduce:
      return "all_reduce";
    case Op::kExchange:
      return "exchange";
    case Op::kMakePartial:
      return "make_partial";
  }
  return "";
}

const Layout& Plan::last(const Problem& problem) const {
  return steps.empty() ? problem.source : *steps.back().layouts.back();
}

namespace {

/// Whether each device that receives anything gives up its whole part and receives a whole part of
/// the same size. Such a round is an all-permute. Unlike recognise(), this function does not need a
/// problem over meshes.
bool swaps_parts(const Problem& problem, const Traffic& round) {
  const Layout &from = problem.source, &to = problem.target;
  if (round.peers_max != 1 || from.partial() || !from.further.empty() || !to.further.empty()) {
    return false;
  }
  const std::vector<std::int64_t> comes = received(from, to);
  for (Device device = 0; device < to.devices(); ++device) {
    if (from.holds(device) != to.holds(device)) return false;
    if (!to.holds(device)) continue;
    if (from.elements(device) != to.elements(device)) return false;
    if (comes[device] != 0 && comes[device] != to.elements(device)) return false;
  }
  return true;
}

/// The name of the only round of a direct plan. Names are for people: executors do not look at
/// them.
Op name_of(const Problem& problem, const std::optional<FactoredProblem>& factored,
           const Traffic& round) {
  if (round.recv_max == 0) return Op::kDynamicSlice;
  if (swaps_parts(problem, round)) return Op::kAllPermute;
  return factored ? recognise(factored->factors, factored->from, factored->to, round)
                  : Op::kExchange;
}

}  // namespace

Plan direct_plan(const Problem& problem, const Link& link, OverlapCache& overlaps) {
  return direct_plan(problem, factor(problem), link, overlaps);
}

Plan direct_plan(const Problem& problem, const std::optional<FactoredProblem>& factored,
                 const Link& link, OverlapCache& overlaps) {
  Plan plan;
  if (!same_distribution(problem.source, problem.target)) {
    Step step;
    step.traffic = traffic(problem.source, problem.target, overlaps);
    step.op = name_of(problem, factored, step.traffic);
    step.layouts = {std::make_shared<Layout>(problem.target)};
    plan.steps.push_back(std::move(step));
  }
  update_totals(plan, problem, link);
  return plan;
}

void update_totals(Plan& plan, const Problem& problem, const Link& link) {
  plan.peak = std::max(problem.source.largest(), problem.target.largest());
  plan.time = 0;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      plan.peak = std::max(plan.peak, layout->largest());
    }
    plan.time += price(link, step.traffic, problem.item_size);
  }
}

Bytes least_peak_bytes(const Problem& problem) {
  return std::max(problem.source.largest() * source_item(problem),
                  problem.target.largest() * target_item(problem));
}

Bytes peak_bytes(const Problem& problem, const Plan& plan) {
  Bytes peak = least_peak_bytes(problem);
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      // The last layout holds elements of the target's type; layouts before it hold elements of
      // the type that is sent.
      const bool end = layout.get() == &plan.last(problem);
      peak = std::max(peak, layout->largest() * (end ? target_item(problem) : problem.item_size));
    }
  }
  return peak;
}

std::vector<Round> rounds(const Problem& problem, const Plan& plan) {
  std::vector<Round> all;
  OverlapCache overlaps(problem.node_of);
  const Layout* at = &problem.source;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      Round round = exchange(*at, *layout, overlaps);
      if (!round.empty()) all.push_back(std::move(round));
      at = layout.get();
    }
  }
  return all;
}

}  // namespace weft::reshard
