// SPDX-License-Identifier: Apache-2.0
// Reads and writes plans. A plan lists changes to a job, and the step time that is predicted for
// them. Planners write plans, and the Python package applies them. docs/formats/plan.md describes
// the file format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/predict/what_if.h"

namespace weft::plan {

/// One change of a setting, for example of "ddp.bucket_mb" to "100". Keys and values are those of
/// what-ifs.
struct Change {
  std::string key;
  std::string value;
};

struct Plan {
  static constexpr int kVersion = 1;

  std::vector<Change> changes;  ///< all of them are made together
  Nanos predicted_step = 0;     ///< mean step of the slowest rank after the changes
  Nanos baseline_step = 0;      ///< mean step of the slowest rank without the changes
  /// The recordings from which the prediction was made, as the user named them.
  std::vector<std::string> inputs;
};

/// Converts what-ifs to changes, in the same order.
std::vector<Change> changes_of(const std::vector<predict::WhatIf>& what_ifs);
/// Returns the changes as KEY=VALUE texts. parse_what_if() can read them.
std::vector<std::string> questions(const Plan& plan);

/// Returns the complete JSON text of a plan. It ends with a newline.
std::string print_plan(const Plan& plan);
/// Parses a plan. Error messages call the file `name`. If the plan has another version, unknown
/// fields or unknown changes, the result is an Error (kBadInput), because it could do harm to apply
/// only the known part of a plan.
Result<Plan> parse_plan(std::string_view text, const std::string& name);

Status write_plan(const std::string& path, const Plan& plan);
Result<Plan> read_plan(const std::string& path);
/// True if the first bytes of the file contain "plan_version", even if the rest is not valid.
/// Always false for anything except a regular file.
bool is_plan(const std::string& path);

}  // namespace weft::plan
