// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/plan.h"

#include <algorithm>

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

Plan direct_plan(const Problem& problem, const Link& link, Meetings& meetings) {
  Plan plan;
  if (!same_distribution(problem.source, problem.target)) {
    Step step;
    step.traffic = traffic(problem.source, problem.target, meetings);
    step.op = step.traffic.recv_max > 0 ? Op::kExchange : Op::kDynamicSlice;
    step.layouts = {std::make_shared<Layout>(problem.target)};
    plan.steps.push_back(std::move(step));
  }
  settle(plan, problem, link);
  return plan;
}

void settle(Plan& plan, const Problem& problem, const Link& link) {
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
      peak = std::max(peak, layout->largest() * problem.item_size);
    }
  }
  return peak;
}

Bytes chunk_bytes(Bytes message, Bytes budget, Bytes item_size) {
  return std::min(message, budget / 2) / item_size * item_size;
}

std::vector<Round> rounds(const Problem& problem, const Plan& plan) {
  std::vector<Round> all;
  Meetings meetings(problem.node_of);
  const Layout* at = &problem.source;
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) {
      Round round = exchange(*at, *layout, meetings);
      if (!round.empty()) all.push_back(std::move(round));
      at = layout.get();
    }
  }
  return all;
}

}  // namespace weft::reshard
