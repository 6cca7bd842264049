// SPDX-License-Identifier: Apache-2.0
// How programs divide a budget: arrays that rest, sums that become narrower, messages. Layouts
// alone decide, so that all devices come to the same.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/execute/program/homes.h"
#include "weft/reshard/execute/program/slabs.h"

namespace weft::reshard::execute {

/// Where the sums of an array that become narrower are added up.
struct SlabSums {
  std::optional<Slabs> slabs;  ///< nullopt: not slab by slab
  Bytes offset = 0;            ///< of staging
};

struct Shares : BudgetShare {
  std::vector<SlabSums> sums;  ///< by array
};

/// An Error (kInfeasible) where the budget is too small, with one that is not; 0: no limit, and
/// nothing is shared out.
Result<Shares> shares_of(const std::vector<Course>& courses, Bytes budget);

/// Why a budget is refused that does not hold what rests and messages: allow `needs`.
tl::unexpected<Error> too_little(const BudgetShare& share);

std::vector<Course> courses_of(const std::vector<Array>& arrays);
std::vector<Homes> homes_of(const std::vector<Course>& courses, Device device);
/// Gives all blocks of a device their offsets; returns the size of its staging.
Bytes arrange(std::vector<Homes>& homes);
/// That a device holds.
Bytes bytes_of(const Layout& layout, Device device, Bytes item);

}  // namespace weft::reshard::execute
