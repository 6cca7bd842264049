// SPDX-License-Identifier: Apache-2.0
// Makes the page of pipeline plans. It shows the schedule of one plan, or the schedules of two
// plans on the same time scale, and a table of their stages.
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
