// SPDX-License-Identifier: Apache-2.0
// A plan: the layouts that an array passes through. Each step is one exchange, two for an
// all-reduce; what moves follows from the layouts, so a device can work out its own transfers
// without knowing those of all others.
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
  kDynamicSlice,   ///< every device drops a part of what it has; nothing moves
  kAllGather,      ///< copies along axes that cut a dimension before
  kAllToAll,       ///< axes go from one dimension to another
  kAllPermute,     ///< every device gets the part of one other
  kReduceScatter,  ///< summands are added, each device keeps a part of the sum
  kAllReduce,      ///< summands are added, all devices have the sum
  kExchange,       ///< any other round: direct all-to-all-v
  kMakePartial,    ///< the rest of a device's summand is filled with the neutral element
};
std::string_view op_name(Op op);

using LayoutPtr = std::shared_ptr<const Layout>;

struct Step {
  Op op = Op::kExchange;
  /// Where the array is after each round of the step.
  std::vector<LayoutPtr> layouts;
  Traffic traffic;  ///< of all rounds together: what is received adds up, and so do messages
};

struct Plan {
  std::vector<Step> steps;
  std::int64_t peak = 0;  ///< elements of the largest part of any layout on any device
  Picos time = 0;

  /// The layout at the end. Of a problem with a partial target it tells which part of its summand
  /// each device holds; the rest is neutral.
  const Layout& last(const Problem& problem) const;
};

/// The direct plan: one exchange, which meets the receive bound. Not for partial targets, whose
/// summands are to be chosen first.
Plan direct_plan(const Problem& problem, const Link& link, OverlapCache& overlaps);
/// `factored`: factor(problem), for those who have it.
Plan direct_plan(const Problem& problem, const std::optional<FactoredProblem>& factored,
                 const Link& link, OverlapCache& overlaps);

/// Sums up steps, and fills peak and time.
void update_totals(Plan& plan, const Problem& problem, const Link& link);

/// Of the largest part of any layout, on any device; ends count as they are, since the last round
/// casts what it puts in place, and what is between as it is sent.
Bytes peak_bytes(const Problem& problem, const Plan& plan);
/// The larger of both ends: what no plan can stay below.
Bytes least_peak_bytes(const Problem& problem);

/// What moves, round after round.
std::vector<Round> rounds(const Problem& problem, const Plan& plan);

}  // namespace weft::reshard
