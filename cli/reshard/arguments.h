// SPDX-License-Identifier: Apache-2.0
// What the flags of `weft reshard` say.
#pragma once

#include "cli/arguments.h"
#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/search/planner.h"

namespace weft::cli {

struct ReshardArguments {
  reshard::PlannerOptions options;
  reshard::execute::ProgramOptions how;
  std::int64_t node_size = 0;  ///< devices of a node; 0: all devices are alike
  Bytes scale_local = 0;       ///< see reshard::plan_and_check()
};
Result<ReshardArguments> reshard_arguments(const Arguments& arguments);

/// The problem that --mesh, --shape, --from and --to describe.
Result<reshard::Case> reshard_case(const Arguments& arguments);

}  // namespace weft::cli
