// SPDX-License-Identifier: Apache-2.0
// The results of `weft reshard` in all its modes: plans, their checks, the memory that they need
// when they run, and the files that are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/reshard/arguments.h"
#include "cli/shell/terminal.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/execute/program/footprint.h"

namespace weft::cli {

/// Pairs of devices, in the user's numbers: a device, and the device whose part of the target it
/// takes over.
using Labels = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// One entry per problem in each list.
struct ReshardResults {
  std::vector<reshard::Case> cases;
  std::vector<reshard::Outcome> outcomes;
  /// The memory that the plan needs when it runs. Set only if --budget or --in-place asks for it
  /// and the plan fits.
  std::vector<std::optional<reshard::execute::Footprint>> footprints;
  Labels labels;  ///< empty without --relabel
};

/// Plans and checks all cases, on all threads. If `share_devices`, the arrays move together, so
/// each problem gets the devices of all problems. The transfers of each round are kept only if
/// `keep_rounds`, because there may be millions of them. Returns an Error only if --relabel is
/// impossible. A case without a plan is an outcome with status kRefused.
Result<ReshardResults> plan_cases(std::vector<reshard::Case> cases, const PlanningOptions& options,
                                  bool share_devices, bool keep_rounds, const Terminal& progress);

/// Reads the plans of a plan file and checks them. They are priced for a run within the budget.
Result<ReshardResults> read_plans(const std::string& path, const PlanningOptions& options);

/// Writes all plans to a plan file. An Error (kInfeasible) if a case has no plan.
Status write_plans(const std::string& path, const ReshardResults& results);
/// Writes the transfers of all plans, one line of JSON each.
Status write_transfers(const std::string& path, const ReshardResults& results);

/// The number of plans without summands, and how many of them meet the receive bound.
struct DirectCount {
  std::int64_t plans = 0, meet_bound = 0;
};
DirectCount count_direct(const ReshardResults& results);

/// The object that --json prints. If `direct` has a value, the object contains it. If `together`,
/// the object contains the joint load.
std::string reshard_json(const ReshardResults& results, const std::optional<DirectCount>& direct,
                         bool together);

}  // namespace weft::cli
