// SPDX-License-Identifier: Apache-2.0
// Plans of pipelines as a page: the schedule of one, or of two on one scale, and their stages.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::report {

/// One or two files of `weft pipeline -o`.
Result<std::string> make_plan_page(const std::vector<std::string>& files,
                                   const std::string& version);

}  // namespace weft::report
