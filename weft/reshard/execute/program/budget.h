// SPDX-License-Identifier: Apache-2.0
// Divides the budget of a program between arrays in staging, messages, and sums that are still to
// be cast to a narrower type. The division depends only on layouts and the budget, so all devices
// get the same result.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/execute/program/placement.h"
#include "weft/reshard/execute/program/slabs.h"

namespace weft::reshard::execute {

/// Where the sums of one array are added up before they are cast to a narrower type.
struct SlabSums {
  std::optional<Slabs> slabs;  ///< nullopt: the sums are added up as a whole, not slab by slab
  Bytes offset = 0;            ///< where the sums begin in staging
};

/// The use of a budget, with the places of all slabs.
struct ProgramBudget : BudgetUse {
  std::vector<SlabSums> sums;  ///< indexed by array
};

/// Divides the budget. 0: no limit, so nothing is divided. If the budget is too small, returns an
/// Error (kInfeasible) that names a budget that is large enough.
Result<ProgramBudget> program_budget(const std::vector<Route>& routes, Bytes budget);

/// The Error for a budget that is too small for staging and messages. Its message contains
/// use.needs.
tl::unexpected<Error> budget_too_small(const BudgetUse& use);

std::vector<Route> routes_of(const std::vector<Array>& arrays);
std::vector<Placements> placements_of(const std::vector<Route>& routes, Device device);
/// Gives all blocks of a device their offsets; returns the size of its staging.
Bytes arrange(std::vector<Placements>& placements);
/// The bytes that a device holds in a layout. `item` is the size of an element.
Bytes bytes_of(const Layout& layout, Device device, Bytes item);

}  // namespace weft::reshard::execute
