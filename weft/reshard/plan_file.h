// SPDX-License-Identifier: Apache-2.0
// Plan files: the problem and the layouts of its plan. A plan file can be executed without
// searching for the plan again. Format: docs/formats/plan.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"

namespace weft::reshard {

/// An array, its plan, and the link that the plan was priced with.
struct PlannedArray {
  Problem problem;
  Link link;
  Plan plan;
};

/// Complete JSON text, ending in a newline. The same plans give the same text, to the byte.
std::string print_plan_file(const std::vector<PlannedArray>& arrays);

/// `name` is the name of the file in error messages. The text is not trusted: every field is
/// checked, and every plan is replayed by box algebra. So the returned plans can be executed.
/// Traffic, peak and time are not in the file; they are computed again. An Error is kBadInput, or
/// kInfeasible if the replay fails. It names the first array that is wrong.
Result<std::vector<PlannedArray>> parse_plan_file(std::string_view text, const std::string& name);

Status write_plan_file(const std::string& path, const std::vector<PlannedArray>& arrays);
Result<std::vector<PlannedArray>> read_plan_file(const std::string& path);

}  // namespace weft::reshard
