// SPDX-License-Identifier: Apache-2.0
// The checker of pipeline plans: stages, time, memory and bound, from the file alone and without
// any of the planner's code.
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

/// An Error where the file is no plan; else one finding for each thing that is checked.
Result<std::vector<Finding>> verify_plan(const std::string& path);
Result<std::vector<Finding>> verify_plan_text(std::string_view json, const std::string& file);

}  // namespace weft::pipeline::verify
