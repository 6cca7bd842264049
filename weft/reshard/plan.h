// SPDX-License-Identifier: Apache-2.0
// A plan is the sequence of layouts that an array passes through. Each step is one exchange, except
// an all-reduce, which is two exchanges. A plan does not list its transfers, because they follow
// from the layouts. So a device can derive its own transfers without knowing the transfers of the
// other devices.
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
  kDynamicSlice,  ///< every device drops a part of what it holds; nothing moves
  /// Some axes no longer cut a dimension; devices along these axes then hold copies.
  kAllGather,
  kAllToAll,       ///< some axes cut another dimension than before
  kAllPermute,     ///< every device receives the whole part of one other device
  kReduceScatter,  ///< summands are added; each device keeps a part of the sum
  kAllReduce,      ///< summands are added; every device has the whole sum
  kExchange,       ///< any other round: an all-to-all with messages of any size
  kMakePartial,    ///< a device fills in neutral elements where its summand has no data
};
/// The name in JSON and plan files: "all_gather" and so on.
std::string_view op_name(Op op);

using LayoutPtr = std::shared_ptr<const Layout>;

struct Step {
  Op op = Op::kExchange;
  /// The layout of the array after each round of the step: one, or two for an all-reduce.
  std::vector<LayoutPtr> layouts;
  Traffic traffic;  ///< the sum over the rounds of the step
};

struct Plan {
  std::vector<Step> steps;
  /// Most elements on any device in any layout, including source and target.
  std::int64_t peak = 0;
  Picos time = 0;  ///< predicted by the price of each step, in picoseconds

  /// The layout after the last step. If there are no steps, this is the source. If the target is
  /// partial, this layout says which part of its summand each device holds. All other elements of
  /// the summand are the neutral element.
  const Layout& last(const Problem& problem) const;
};

/// The direct plan has one exchange, in which each device receives only what it lacks. No plan can
/// do with less. The plan has no steps if source and target are the same. The target must not be
/// partial, because only a search chooses the summands of a partial target.
Plan direct_plan(const Problem& problem, const Link& link, OverlapCache& overlaps);
/// Makes the direct plan, for a caller that has computed factor(problem) already.
Plan direct_plan(const Problem& problem, const std::optional<FactoredProblem>& factored,
                 const Link& link, OverlapCache& overlaps);

/// Computes Plan::peak and Plan::time from the steps.
void update_totals(Plan& plan, const Problem& problem, const Link& link);

/// The most bytes that any device holds in any layout. Elements of the source have their own size.
/// Elements of the target have their own size too, because the last round casts what it writes.
/// Elements of all other layouts have the size in which they are sent.
Bytes peak_bytes(const Problem& problem, const Plan& plan);
/// A lower bound on the peak of every plan: the larger of source and target.
Bytes least_peak_bytes(const Problem& problem);

/// The transfers of every round, in order. Rounds in which nothing moves are left out.
std::vector<Round> rounds(const Problem& problem, const Plan& plan);

}  // namespace weft::reshard
