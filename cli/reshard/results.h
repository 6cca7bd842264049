// SPDX-License-Identifier: Apache-2.0
// Computes and writes the results of `weft reshard`, for all its modes: plans, the checks of the
// plans, and the memory that a plan needs when it runs.
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

/// Pairs of device numbers of the user: the first device takes over the part of the target that the
/// second device would hold.
using Labels = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The first three lists have one entry per problem.
struct ReshardResults {
  std::vector<reshard::Case> cases;
  std::vector<reshard::Outcome> outcomes;
  /// The memory that the plan needs when it runs. Set only if --budget or --in-place asks for it
  /// and the plan fits.
  std::vector<std::optional<reshard::execute::Footprint>> footprints;
  Labels labels;  ///< empty without --relabel
};

/// Plans and checks all cases, on all threads. If `share_devices` is true, the arrays move
/// together, so each problem gets the devices of all problems. The transfers of each round are kept
/// only if `keep_rounds` is true, because there may be millions of transfers. Returns an Error only
/// if --relabel is impossible. A case without a plan has an outcome with status kRefused.
Result<ReshardResults> plan_cases(std::vector<reshard::Case> cases, const PlanningOptions& options,
                                  bool share_devices, bool keep_rounds, const Terminal& progress);

/// Reads the plans of a plan file and checks them. Their prices assume a run within the budget.
Result<ReshardResults> read_plans(const std::string& path, const PlanningOptions& options);

/// The content of a plan file with all plans. An Error (kInfeasible) if a case has no plan.
Result<std::string> plans_text(const ReshardResults& results);
/// The transfers of all plans, one line of JSON each.
std::string transfers_text(const ReshardResults& results);

/// The number of plans for arrays without summands, and how many of them receive no more than the
/// lower bound on received bytes.
struct DirectCount {
  std::int64_t plans = 0, meet_bound = 0;
};
DirectCount count_direct(const ReshardResults& results);

/// The object that --json prints. If `direct` has a value, the object contains it. If `together` is
/// true, the object contains the load of all arrays that move at once.
std::string reshard_json(const ReshardResults& results, const std::optional<DirectCount>& direct,
                         bool together);

}  // namespace weft::cli
