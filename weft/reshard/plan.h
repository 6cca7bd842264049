// SPDX-License-Identifier: Apache-2.0
// A plan: the sequence of layouts that an array passes through. Each step is one exchange; only an
// all-reduce is two. The transfers follow from the layouts, so a plan does not list them, and a
// device can derive its own transfers without knowing those of all other devices.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/round/exchange.h"
#include "weft/reshard/round/price.h"
#include "weft/reshard/search/factors.h"

namespace weft::reshard {

enum class Op {
  kDynamicSlice,   ///< every device drops a part of what it holds; nothing moves
  kAllGather,      ///< axes stop cutting a dimension; their devices hold copies afterwards
  kAllToAll,       ///< axes that cut one dimension cut another one afterwards
  kAllPermute,     ///< every device gets the whole part of one other device
  kReduceScatter,  ///< summands are added; each device keeps a part of the sum
  kAllReduce,      ///< summands are added; every device has the whole sum
  kExchange,       ///< any other round: a direct all-to-all-v
  kMakePartial,    ///< a device fills the rest of its summand with the neutral element
};
/// The name in JSON and plan files: "all_gather" and so on.
std::string_view op_name(Op op);

using LayoutPtr = std::shared_ptr<const Layout>;

struct Step {
  Op op = Op::kExchange;
  /// The layout of the array after each round of the step: one, or two for an all-reduce.
  std::vector<LayoutPtr> layouts;
  Traffic traffic;  ///< summed over the rounds of the step: received elements and messages
};

struct Plan {
  std::vector<Step> steps;
  std::int64_t peak = 0;  ///< most elements that any device holds in any layout, ends included
  Picos time = 0;         ///< predicted by the price of each step, in picoseconds

  /// The layout after the last step; the source if there are no steps. If the target is partial,
  /// this layout says which part of its summand each device holds; the rest of the summand is the
  /// neutral element.
  const Layout& last(const Problem& problem) const;
};

/// The direct plan: one exchange, which meets the receive bound; no steps if source and target are
/// the same. The target must not be partial, because a search must choose its summands first.
Plan direct_plan(const Problem& problem, const Link& link, OverlapCache& overlaps);
/// The same, for a caller that has computed factor(problem) already.
Plan direct_plan(const Problem& problem, const std::optional<FactoredProblem>& factored,
                 const Link& link, OverlapCache& overlaps);

/// Computes Plan::peak and Plan::time from the steps.
void update_totals(Plan& plan, const Problem& problem, const Link& link);

/// The most bytes that any device holds in any layout. The source counts with its own element
/// size, the target with its own (the last round casts what it writes), and every layout between
/// them with the element size in which it is sent.
Bytes peak_bytes(const Problem& problem, const Plan& plan);
/// A lower bound on the peak of every plan: the larger of source and target.
Bytes least_peak_bytes(const Problem& problem);

/// The transfers of every round, in order. Rounds in which nothing moves are left out.
std::vector<Round> rounds(const Problem& problem, const Plan& plan);

}  // namespace weft::reshard
