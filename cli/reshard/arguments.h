// SPDX-License-Identifier: Apache-2.0
// Turns the flags of `weft reshard` into structs. A problem is one array to redistribute. The verb
// has three modes: the problems come from flags (one problem), from a file of problems (--cases),
// or from a plan file (--plan).
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/search/planner.h"

namespace weft::cli {

enum class ReshardMode {
  kOneProblem,  ///< --mesh, --shape, --from, --to, ...: plan this problem
  kCaseFile,    ///< --cases: plan all problems of a file
  kPlanFile,    ///< --plan: replay the plans of a file, without planning
};

/// Returns the mode that the flags ask for. If flags contradict each other, returns an Error
/// (kUsage) that names both flags.
Result<ReshardMode> reshard_mode(const Arguments& arguments);

/// How plans are priced, and how their arrays are stored when they run.
struct PlanningOptions {
  reshard::PlannerOptions planner;
  reshard::execute::ProgramOptions program;  ///< --budget, --in-place
  std::int64_t node_size = 0;                ///< devices per node; 0: nodes do not matter
  Bytes scale_local = 0;                     ///< --scale-local; 0: times are not scaled
  bool relabel = false;                      ///< reassign the parts of the targets to devices
};

/// What is printed and written.
struct ReshardOutput {
  bool json = false;
  bool together = false;  ///< report the load of all arrays that move at once
  bool direct = false;    ///< report how many plans receive no more than any plan must
  bool all = false;       ///< also list cases that are ok
  std::optional<std::string> plan_file;       ///< -o
  std::optional<std::string> transfers_file;  ///< --plans
  std::optional<std::string> picture_file;    ///< --svg
};

/// Errors are kUsage and begin with the name of the flag.
Result<PlanningOptions> planning_options(const Arguments& arguments);
ReshardOutput reshard_output(const Arguments& arguments);
/// The problem that --mesh, --shape, --from and --to describe.
Result<reshard::Case> reshard_case(const Arguments& arguments);

}  // namespace weft::cli
