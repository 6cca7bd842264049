// SPDX-License-Identifier: Apache-2.0
// Plans in files: problem and layouts, so that a plan can be put into force, on any number of
// devices, without searching for it again. Format: docs/formats/plan.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"

namespace weft::reshard {

/// An array, what it was priced with, and its plan.
struct PlannedArray {
  Problem problem;
  Link link;
  Plan plan;
};

/// Complete JSON text, ending in a newline.
std::string print_plan_file(const std::vector<PlannedArray>& arrays);

/// `name` stands for the file in messages. Everything is checked that may be wrong with it, and
/// every plan is replayed by box algebra: what is returned can be put into force. Traffic, peak and
/// time are worked out anew.
Result<std::vector<PlannedArray>> parse_plan_file(std::string_view text, const std::string& name);

Status write_plan_file(const std::string& path, const std::vector<PlannedArray>& arrays);
Result<std::vector<PlannedArray>> read_plan_file(const std::string& path);

}  // namespace weft::reshard
