// SPDX-License-Identifier: Apache-2.0
// Checks pipeline plans. From the plan file alone, and without any code of the planner, the checker
// computes stages, time, memory and bounds again and compares them with the file.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::pipeline::verify {

struct Finding {
  std::string about;  ///< "layers", "devices", "time", "memory", "bound", "figures", "file"
  bool right = true;
  std::string says;  ///< one line
};

/// One finding for each thing that is checked. Stops after a wrong finding that makes the rest
/// meaningless. Fails if the file is not a plan.
Result<std::vector<Finding>> verify_plan(const std::string& path);
Result<std::vector<Finding>> verify_plan_text(std::string_view json, const std::string& file);

}  // namespace weft::pipeline::verify
