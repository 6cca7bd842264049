// SPDX-License-Identifier: Apache-2.0
// A plan: which changes to make to a job, and the step time predicted for them. Planners write
// plans; the Python package applies them. File format: docs/formats/plan.md.
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
  std::vector<std::string>
      inputs;  ///< recordings the prediction was made from, as the user named them
};

/// Converts what-ifs to changes, in the same order.
std::vector<Change> changes_of(const std::vector<predict::WhatIf>& what_ifs);
/// Returns the changes as KEY=VALUE texts. parse_what_if() can read them.
std::vector<std::string> questions(const Plan& plan);

/// Returns the complete JSON text of a plan. It ends with a newline.
std::string print_plan(const Plan& plan);
/// Parses a plan. Messages call the file `name`. A plan of another version, or with unknown fields
/// or changes, is an Error (kBadInput). To apply only the known part of such a plan could do harm.
Result<Plan> parse_plan(std::string_view text, const std::string& name);

Status write_plan(const std::string& path, const Plan& plan);
Result<Plan> read_plan(const std::string& path);
/// True if the first bytes of the file contain "plan_version", even if the rest is not valid.
/// Always false for anything except a regular file.
bool is_plan(const std::string& path);

}  // namespace weft::plan
