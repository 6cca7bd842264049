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

/// One change, for example of "ddp.bucket_mb" to "100". Keys and values are those of what-ifs.
struct Change {
  std::string key;
  std::string value;
};

struct Plan {
  static constexpr int kVersion = 1;

  std::vector<Change> changes;  ///< they apply together
  Nanos predicted_step = 0;     ///< mean step of the slowest rank with the changes
  Nanos baseline_step = 0;      ///< the same without the changes
  std::vector<std::string>
      inputs;  ///< recordings the prediction was made from, as the user named them
};

/// What-ifs as changes, in the same order.
std::vector<Change> changes_of(const std::vector<predict::WhatIf>& what_ifs);
/// The changes as KEY=VALUE texts, which parse_what_if() understands.
std::vector<std::string> questions(const Plan& plan);

/// Complete JSON text, ending in a newline.
std::string print_plan(const Plan& plan);
/// `name` stands for the file in messages. An Error (kBadInput) if the plan has another version,
/// unknown fields or unknown changes: to apply only the known part could do harm.
Result<Plan> parse_plan(std::string_view text, const std::string& name);

Status write_plan(const std::string& path, const Plan& plan);
Result<Plan> read_plan(const std::string& path);
/// True if the first bytes of the file contain "plan_version", whether or not the rest is valid.
/// False for anything but a regular file.
bool is_plan(const std::string& path);

}  // namespace weft::plan
