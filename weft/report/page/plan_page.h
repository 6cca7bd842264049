// SPDX-License-Identifier: Apache-2.0
// The page of pipeline plans: the schedule of one plan, or of two plans on one time scale, and a
// table of their stages.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::report {

/// `files` are one or two plans that `weft pipeline -o` wrote. Fails if a plan cannot be read or
/// its schedule cannot be simulated.
Result<std::string> make_plan_page(const std::vector<std::string>& files,
                                   const std::string& version);

}  // namespace weft::report
